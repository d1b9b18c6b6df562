import pytest

from calib.loading.columns import as_ranges, from_ranges

NAMES = ["y", "p_0", "p_1", "p_2", "p_3", "cat", "dog [x]"]


@pytest.mark.parametrize(
    "columns", [NAMES[1:5], ["p_3", "p_1"], ["cat"], NAMES, ["p_0", "p_1", "p_3", "cat", "dog [x]"]]
)
def test_what_is_written_is_read_again(columns):
    assert from_ranges(as_ranges(columns, NAMES), NAMES) == tuple(columns)


def test_ranges_stars_and_spaces():
    assert from_ranges(" p_1 ... p_3 ,cat", NAMES) == ("p_1", "p_2", "p_3", "cat")
    assert from_ranges("p_3 … p_1", NAMES) == ("p_1", "p_2", "p_3")
    assert from_ranges("p_*, p_1", NAMES) == ("p_0", "p_1", "p_2", "p_3")
    assert from_ranges("dog [x]", NAMES) == ("dog [x]",)


def test_what_means_nothing_is_kept_to_be_told():
    assert from_ranges("q_*, p_0 … q", NAMES) == ("q_*", "p_0 … q")
    assert from_ranges(" , ", NAMES) == ()


def test_neighbours_are_written_as_a_range():
    assert as_ranges(["b", "c", "d", "f"], ["a", "b", "c", "d", "e", "f"]) == "b … d, f"
