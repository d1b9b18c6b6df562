import numpy as np
import pandas as pd
import pytest

from calib.analysis.slices import slice_by
from calib.data.slicing import quantiles_of_counts, range_levels, range_names, singles_and_pairs


def test_numbers_are_ordered_by_size_also_as_text():
    for values in (np.array(["10", "9", "2", "(missing)", "x"]), np.array([10.0, 9.0, 2.0])):
        names = slice_by({"a": values}, ["a"]).names
        assert names[:3] == ("2", "9", "10")
    assert slice_by({"a": np.array([2.5, 1.0])}, ["a"]).names == ("1", "2.5")


def test_every_row_is_in_the_slice_of_its_value():
    rng = np.random.default_rng(0)
    values = rng.choice(np.array(["b", "a", "c"]), 100)
    slicing = slice_by({"letter": values}, ["letter"])
    assert np.array(slicing.names)[slicing.codes].tolist() == values.tolist()


@pytest.mark.parametrize("n_values", [1, 3, 900, 4000])
def test_texts_that_share_letters_are_different_slices(n_values):
    texts = np.array([f"{'é' * (i % 7)}{i % 11}-{i}" for i in range(n_values)])
    values = np.random.default_rng(0).choice(texts, 5000)[::2]
    slicing = slice_by({"text": values}, ["text"])
    assert np.array(slicing.names)[slicing.codes].tolist() == values.tolist()
    assert len(slicing) == len(set(values.tolist()))


@pytest.mark.parametrize("n_ranges", [2, 5, 20])
def test_many_numbers_are_cut_as_pandas_cuts_them(n_ranges):
    values = np.random.default_rng(1).normal(size=1000)
    slicing = slice_by({"x": values}, ["x"], n_ranges=n_ranges)
    assert len(slicing) == n_ranges
    np.testing.assert_array_equal(slicing.codes, pd.qcut(values, n_ranges, labels=False))


def test_a_number_that_is_in_half_of_the_rows_makes_fewer_ranges():
    values = np.concatenate([np.zeros(500), np.arange(1.0, 501.0)])
    slicing = slice_by({"x": values}, ["x"], n_ranges=4)
    assert slicing.names == ("up to 0", "0.5 to 250", "above 250")
    assert np.bincount(slicing.codes).tolist() == [500, 250, 250]


def test_missing_numbers_and_dates_are_a_slice_of_their_own():
    values = np.arange(30.0)
    values[3] = np.nan
    assert slice_by({"x": values}, ["x"]).names[-1] == "(missing)"
    days = np.datetime64("2024-01-01") + np.arange(30).astype("timedelta64[D]")
    days = days.astype("datetime64[us]")
    days[0] = np.datetime64("NaT")
    slicing = slice_by({"d": days}, ["d"], n_ranges=2)
    assert slicing.names == ("up to 2024-01-16", "above 2024-01-16", "(missing)")
    assert slice_by({"x": np.array([1.0, np.nan])}, ["x"]).names == ("1", "(missing)")


def test_infinite_numbers_and_columns_without_numbers():
    values = np.append(np.arange(30.0), [np.inf, -np.inf])
    slicing = slice_by({"x": values}, ["x"], n_ranges=3)
    assert slicing.codes[-2:].tolist() == [2, 0]
    assert slice_by({"x": np.full(3, np.nan)}, ["x"]).names == ("(missing)",)


def test_crossing_gives_the_pairs_that_occur():
    columns = {"a": np.array(["u", "u", "v"]), "b": np.array(["1", "2", "2"])}
    slicing = slice_by(columns, ["a", "b"])
    assert slicing.names == ("u × 1", "u × 2", "v × 2")
    assert slicing.codes.tolist() == [0, 1, 2]


def test_names_of_close_edges_differ():
    values = 1000.0 + np.arange(100.0) / 1000.0
    names = slice_by({"x": values}, ["x"], n_ranges=10).names
    assert len(set(names)) == 10


@pytest.mark.parametrize(
    ("names", "n_ranges"),
    [
        ([], 5),
        (["a", "a"], 5),
        (["a", "b", "c"], 5),
        (["z"], 5),
        (["a"], 1),
    ],
)
def test_refusals(names, n_ranges, texts):
    with texts.raises(ValueError):
        slice_by({"a": np.array(["u", "v"])}, names, n_ranges=n_ranges)


@pytest.mark.parametrize("n_ranges", [2, 3, 5, 7])
def test_counted_numbers_are_cut_where_numpy_cuts_their_rows(n_ranges):
    rng = np.random.default_rng(3)
    values, counts = rng.normal(size=40), rng.integers(1, 9, 40)
    levels = range_levels(n_ranges)
    expected = np.quantile(np.repeat(values, counts), levels)
    np.testing.assert_array_equal(quantiles_of_counts(values, counts, levels), expected)


def test_one_range_holds_all():
    assert range_names(np.empty(0)) == ["all"]


def test_ranges_of_dates_have_days_or_where_these_agree_seconds():
    hours = np.array(["2024-03-01T06:00", "2024-03-01T18:00", "2024-03-02T06:00"])
    edges = hours.astype("datetime64[us]").astype(np.int64).astype(float)
    assert range_names(edges[1:], dates=True) == [
        "up to 2024-03-01",
        "2024-03-01 to 2024-03-02",
        "above 2024-03-02",
    ]
    assert range_names(edges[:2], dates=True) == [
        "up to 2024-03-01T06:00:00",
        "2024-03-01T06:00:00 to 2024-03-01T18:00:00",
        "above 2024-03-01T18:00:00",
    ]


def test_no_values_have_no_quantiles():
    assert len(quantiles_of_counts(np.empty(0), np.empty(0, dtype=int), range_levels(4))) == 0


@pytest.mark.parametrize("kind", [float, int, np.uint8, "datetime64[D]"])
@pytest.mark.parametrize(("distinct", "slices"), [(12, 12), (13, 5)])
def test_more_than_twelve_numbers_or_dates_are_cut_into_five_ranges(distinct, slices, kind):
    values = (np.arange(130) % distinct).astype(kind)
    assert len(slice_by({"x": values}, ["x"])) == slices
    assert len(slice_by({"x": values.astype(str)}, ["x"])) == distinct


@pytest.mark.parametrize("missing", [None, np.nan])
def test_rows_without_a_value_are_the_last_slice_and_no_other(missing):
    values = np.array(["b", "a", missing, "b"], dtype=object)
    slicing = slice_by({"x": values}, ["x"])
    assert slicing.names == ("a", "b", "(missing)")
    assert slicing.codes.tolist() == [1, 0, 2, 1]


def test_columns_to_count_by_and_pairs_to_cross():
    assert singles_and_pairs(["region", ("region", "plan")], None) == (
        ("region", "plan"),
        (("region", "plan"),),
    )
