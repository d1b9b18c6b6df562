"""Slices, periods and decisions of counts: the numbers that the rows give."""

import dataclasses
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import calib
from calib.analysis.decisions import Costs, decide, expected_counts
from calib.analysis.periods import cut_periods
from calib.analysis.slices import (
    calibrate_slices,
    slice_error_rates,
    slice_reliability,
    sliced_rows,
)
from calib.data.predictions import Predictions
from calib.reports import Report, parts_of
from tests.rare import common_first

N = 2000
SETTINGS = calib.Settings(methods=("platt", "isotonic"))
KINDS = ["plain", "ties", "weights", "test rows", "folds", "clusters"]


def drawn(kind: str) -> Predictions:
    rng = np.random.default_rng(7)
    score = rng.beta(0.7, 0.9, N)
    score = score.round(2) if kind in ("ties", "clusters") else score
    outcome = rng.random(N) < 0.1 + 0.7 * score
    columns = {
        "site": rng.choice(["north", "south", "west"], N),
        "age": rng.normal(50.0, 15.0, N),
        "day": np.datetime64("2024-01-01") + rng.integers(0, 200, N),
    }
    more = {
        # Rows with the same score and outcome have the same weight, so counts lose nothing.
        "weights": {"sample_weight": 0.5 + score + outcome},
        "test rows": {"test": rng.random(N) < 0.5},
        "folds": {"fold": rng.choice(["a", "b", "c"], N)},
        "clusters": {"group": rng.integers(0, 200, N)},
    }.get(kind, {})
    rows = Predictions.from_arrays(outcome, score, columns=columns, **more)
    return replace(rows, time_name="day")


@pytest.fixture(scope="module", params=common_first(KINDS, ["clusters"]))
def both(request):
    """The rows and their counts, each with its analysis."""
    rows = drawn(request.param)
    counts = calib.aggregate(rows, ["site", ("age", "site")])
    return [(data, calib.analyze(data, SETTINGS)) for data in (rows, counts)]


def agree(one: object, other: object, rtol: float = 1e-9) -> None:
    assert type(one) is type(other)
    if isinstance(one, Mapping):
        assert list(one) == list(other)
        for key in one:
            agree(one[key], other[key], rtol)
    elif isinstance(one, tuple | list):
        for expected, actual in zip(one, other, strict=True):
            agree(expected, actual, rtol)
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            agree(getattr(one, field.name), getattr(other, field.name), rtol)
    elif isinstance(one, np.ndarray | float):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-9 if rtol < 1e-6 else rtol)
    else:
        assert one == other


def test_everything_that_a_report_takes_along(both):
    parts = [
        parts_of(
            data,
            analysis,
            costs=Costs(false_negative=4),
            slices=[("site",), ("age", "site")],
            time="",
        )
        for data, analysis in both
    ]
    agree(*parts)
    over_time = [parts_of(data, analysis, slices=[], unit="month") for data, analysis in both]
    assert len(over_time[0].periods.tables["platt"]) == 7
    agree(*over_time)
    by_rule = [parts_of(data, analysis, slices=[("age",)]).periods for data, analysis in both]
    agree(*by_rule)


def test_error_rates_reliability_and_a_calibrator_of_a_slice(both):
    results = []
    for data, analysis in both:
        cut = sliced_rows(data, analysis.held_out, ["site"])
        rows, held_out = cut.held_out.row_view("platt"), cut.held_out
        decision = decide(analysis.held_out, Costs(false_negative=4)).methods["platt"]
        flagged = held_out.row_values(decision.flag(analysis.held_out.scores["platt"]))
        south = cut.slicing.member(1)
        results.append(
            (
                slice_error_rates(rows, flagged, cut.scored),
                slice_reliability(rows, rows.score, cut.scored.member(1)),
                calibrate_slices(cut.rows, south, held_out, "platt"),
                expected_counts(analysis.held_out, 0.2, 0.7),
            )
        )
    for one, other in zip(*results, strict=True):
        agree(one, other)


def test_bounded_cells_are_near_the_rows():
    rows = drawn("plain")
    parts = [
        parts_of(data, calib.analyze(data, SETTINGS), slices=[("site",)])
        for data in (rows, calib.aggregate(rows, max_scores=100))
    ]
    one, other = (part.slices[0].gaps["uncalibrated"] for part in parts)
    np.testing.assert_allclose(one.gap, other.gap, atol=1e-4)
    np.testing.assert_array_equal(one.rows, other.rows)
    one, other = (part.periods.tables["uncalibrated"] for part in parts)
    np.testing.assert_allclose(one.ks, other.ks, atol=1e-3)


def test_what_needs_rows_says_so(texts):
    counts = calib.aggregate(drawn("ties"))
    analysis = calib.analyze(counts, SETTINGS)
    with texts.raises(ValueError):
        sliced_rows(counts, analysis.held_out, ["site", "age"])
    with texts.raises(ValueError):
        sliced_rows(counts, analysis.held_out, ["height"])
    with texts.raises(ValueError):
        analysis.held_out.row_view("platt")
    for crossed in (("site", "site"), ("site", "day"), ("site", "height")):
        with texts.raises(ValueError):
            calib.aggregate(drawn("ties"), [crossed])


def test_a_crossing_is_found_in_either_order_and_is_added_and_saved(tmp_path):
    one = calib.aggregate(drawn("ties"), [("site", "age")], n_ranges=2)
    two = calib.aggregate(drawn("plain"), [("site", "age")], n_ranges=2)
    names = {part.value for part in one.parts if part.column == "site × age"}
    assert len(names) == 6
    (one + two).save(tmp_path / "both.parquet")
    counts = calib.Aggregate.load(tmp_path / "both.parquet")
    assert counts.columns == ("site", "age", "day")
    assert counts.crossings == (("site", "age"),)
    cut = sliced_rows(counts, calib.analyze(counts, SETTINGS).held_out, ["age", "site"])
    assert names <= set(cut.scored.names)
    assert cut.rows.counts.sum() == 2 * N


@pytest.mark.parametrize("values", [np.arange(40) / 7.0, np.arange(30), np.array(["b", "a", "c"])])
def test_periods_of_counted_values_are_those_of_the_rows(values):
    rng = np.random.default_rng(0)
    count = rng.integers(1, 9, len(values))
    one, other = cut_periods(np.repeat(values, count)), cut_periods(values, count=count * 1.0)
    assert one.names == other.names
    np.testing.assert_array_equal(one.codes, np.repeat(other.codes, count))


@pytest.mark.parametrize("seed", common_first([5, 6, 7, 8], [6]))
def test_clusters_of_rows_counts_and_scans_have_the_same_numbers(seed):
    rng = np.random.default_rng(seed)
    group, log_odds = np.repeat(np.arange(400), 4), rng.normal(0, 1.4, 1600)
    outcome = rng.random(1600) < expit(0.7 * log_odds + rng.normal(0, 0.5, 400)[group])
    rows = Predictions.from_arrays(outcome, expit(log_odds), group=group)
    frame = pd.DataFrame(
        {
            "outcome": outcome.astype(int),
            "score": expit(log_odds),
            # The same clusters have other names, in another order.
            "person": [f"p{number}" for number in rng.permutation(400)[group]],
            "site": np.where(group % 3 == 0, "north", "south"),
        }
    ).sample(frac=1.0, random_state=seed)
    scanned = calib.scan(frame, outcome="outcome", score="score", group="person", slices=["site"])
    # A spline makes differences of 1e-9 of sums that were rounded in another order.
    settings = replace(SETTINGS, methods=("isotonic", "spline"))
    expected = calib.analyze(rows, settings).table()
    for counts in (calib.aggregate(rows), scanned):
        table = calib.analyze(counts, settings).table()
        pd.testing.assert_frame_equal(table, expected, check_exact=True)


def test_a_report_of_counts_is_that_of_the_rows_but_for_what_they_are_called(tmp_path):
    rows = drawn("ties")
    counts = calib.aggregate(rows, ["site"])
    counts.save(tmp_path / "counts.parquet")
    loaded = replace(calib.Aggregate.load(tmp_path / "counts.parquet"), name="March")
    analysis = calib.analyze(loaded, SETTINGS)
    report = Report.from_analysis(analysis, parts=parts_of(loaded, analysis))
    report.save(tmp_path / "r.json")
    opened = Report.open(tmp_path / "r.json")
    assert opened.parts.slice_columns == [("site",)]
    assert opened.parts.periods.column == "day"
