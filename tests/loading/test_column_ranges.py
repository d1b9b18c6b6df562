import pytest

from calib.loading.columns import read, written

NAMES = ["y", "p_0", "p_1", "p_2", "p_3", "cat", "dog [x]"]


@pytest.mark.parametrize(
    "columns", [NAMES[1:5], ["p_3", "p_1"], ["cat"], NAMES, ["p_0", "p_1", "p_3", "cat", "dog [x]"]]
)
def test_what_is_written_is_read_again(columns):
    assert read(written(columns, NAMES), NAMES) == tuple(columns)


def test_ranges_stars_and_spaces():
    assert read(" p_1 ... p_3 ,cat", NAMES) == ("p_1", "p_2", "p_3", "cat")
    assert read("p_3 … p_1", NAMES) == ("p_1", "p_2", "p_3")
    assert read("p_*, p_1", NAMES) == ("p_0", "p_1", "p_2", "p_3")
    assert read("dog [x]", NAMES) == ("dog [x]",)


def test_what_means_nothing_is_kept_to_be_told():
    assert read("q_*, p_0 … q", NAMES) == ("q_*", "p_0 … q")
    assert read(" , ", NAMES) == ()


def test_neighbours_are_written_as_a_range():
    assert written(["b", "c", "d", "f"], ["a", "b", "c", "d", "e", "f"]) == "b … d, f"
