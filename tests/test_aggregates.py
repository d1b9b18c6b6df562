"""Aggregates: counted rows that add up, are saved, and lose nothing where cells are exact."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calib
from calib.data.aggregate import Aggregate
from calib.data.aggregating import aggregate_rows
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.metrics import auc, expected_calibration_error, ks_error, log_loss
from calib.numerics.arrays import arrays_of
from calib.numerics.cells import KEYS_PER_CELL
from tests.golden import Texts
from tests.rare import rare


def drawn(seed: int, n: int = 3000, *, digits: int | None = 2) -> BinaryView:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.7, n)
    p = p if digits is None else p.round(digits)
    return Predictions.from_arrays(rng.random(n) < p, p).view()


def sites(n: int, seed: int = 0) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    codes = np.random.default_rng(seed).integers(0, 3, n)
    return {"site": (("north", "south", "west"), codes)}


def same(one: Aggregate, other: Aggregate) -> None:
    """Equal to the last bit, whatever order the strata are in."""
    order = ["model", "column", "value", "test", "fold", "group", "outcome", "score"]
    frames = [counts.frame().sort_values(order, ignore_index=True) for counts in (one, other)]
    assert frames[0].equals(frames[1])
    assert one.exact == other.exact


@pytest.mark.parametrize("column", ["", "site"])
def test_counted_rows_give_the_cells_of_the_rows(column: str) -> None:
    view = drawn(0)
    cut = sites(len(view))
    counts = aggregate_rows(view, cut).by(column)
    for code in range(len(counts.names)):
        rows = view if not column else view.rows(cut["site"][1] == code)
        expected, theirs = rows.cells(), counts.rows.entries.rows(counts.codes == code).cells()
        for name in ("score", "rows", "weight", "positive", "weight_sq", "positive_sq"):
            np.testing.assert_array_equal(getattr(expected, name), getattr(theirs, name))


@given(st.integers(0, 1000), st.integers(1, 2999))
@settings(max_examples=20)
def test_counting_parts_and_adding_them_is_counting_the_whole(seed: int, cut_at: int) -> None:
    view, all_sites = drawn(seed), sites(3000, seed)
    names, codes = all_sites["site"]
    first, second = np.arange(3000) < cut_at, np.arange(3000) >= cut_at
    parts = [aggregate_rows(view.rows(at), {"site": (names, codes[at])}) for at in (first, second)]
    same(parts[0] + parts[1], aggregate_rows(view, all_sites))


def test_bounded_cells_add_up_to_rounding() -> None:
    """Parts may be counted in finer cells than the whole, never across a cell of the grid."""
    view = drawn(1, digits=None)
    first = np.arange(3000) < 1234
    whole = aggregate_rows(view, {}, max_scores=100)
    one, other = (aggregate_rows(view.rows(at), {}, max_scores=100) for at in (first, ~first))
    sums = [
        pd.DataFrame(arrays_of(counts.table))
        .assign(cell=counts.table.key // KEYS_PER_CELL)
        .groupby(["cell", "outcome"])
        .agg({"rows": "sum", "score_sum": "sum", "low": "min", "high": "max"})
        for counts in (one + other, whole)
    ]
    for name in ("rows", "low", "high"):
        assert (sums[0][name] == sums[1][name]).all()
    np.testing.assert_allclose(sums[0]["score_sum"], sums[1]["score_sum"], rtol=1e-12)


def test_exact_cells_join_bounded_ones_on_the_grid() -> None:
    fine, rounded = drawn(2, digits=None), drawn(3)
    both = BinaryView(
        np.concatenate([fine.outcome, rounded.outcome]), np.concatenate([fine.score, rounded.score])
    )
    exact = aggregate_rows(rounded, {}, max_scores=200)
    assert exact.exact
    added = aggregate_rows(fine, {}, max_scores=200) + exact
    whole = aggregate_rows(both, {}, max_scores=200)
    assert not added.exact
    assert ks_error(added.rows().entries.cells()) == pytest.approx(
        ks_error(whole.rows().entries.cells()), abs=1e-5
    )


def test_too_many_scores_of_both_together_go_on_the_grid() -> None:
    parts = [aggregate_rows(drawn(seed, n=80, digits=None), {}, max_scores=100) for seed in (0, 1)]
    assert parts[0].exact
    assert not (parts[0] + parts[1]).exact


def test_rows_in_another_order_are_the_same_aggregate() -> None:
    view, (names, codes) = drawn(4), sites(3000)["site"]
    order = np.random.default_rng(9).permutation(3000)
    same(
        aggregate_rows(view, {"site": (names, codes)}),
        aggregate_rows(view.rows(order), {"site": (names, codes[order])}),
    )


@pytest.mark.parametrize("max_scores", [200_000, 100])
def test_a_saved_aggregate_is_read_back(tmp_path: Path, max_scores: int) -> None:
    view = drawn(5, digits=None)
    made = aggregate_rows(
        view,
        sites(3000),
        max_scores=max_scores,
        name="märz <b>",
        set_aside={"no outcome": 3},
        sources=("abc",),
    )
    made.save(tmp_path / "a.parquet")
    back = Aggregate.load(tmp_path / "a.parquet")
    same(made, back)
    assert (back.name, back.set_aside, back.fingerprint) == ("märz <b>", {"no outcome": 3}, "abc")


def test_files_that_are_no_aggregate_are_refused_in_words(tmp_path: Path, texts: Texts) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 nothing of the kind")
    with texts.raises(ValueError):
        Aggregate.load(path)
    pq.write_table(pa.table({"y": [0, 1]}), path)
    with texts.raises(ValueError):
        Aggregate.load(path)


@pytest.mark.parametrize("column", ["rows", "weight", "low"])
def test_cells_that_contradict_each_other_are_refused(
    tmp_path: Path, column: str, texts: Texts
) -> None:
    path = tmp_path / "x.parquet"
    aggregate_rows(drawn(6), {}).save(path)
    table = pq.read_table(path)
    at = table.schema.get_field_index(column)
    wrong = pa.array(np.full(len(table), -1), table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), wrong), path)
    with texts.raises(ValueError):
        Aggregate.load(path)


def test_a_later_version_is_named(tmp_path: Path, texts: Texts) -> None:
    path = tmp_path / "x.parquet"
    aggregate_rows(drawn(7), {}).save(path)
    table = pq.read_table(path)
    metadata = table.schema.metadata[b"calib.aggregate"].replace(
        b'"schema_version": 1', b'"schema_version": 99'
    )
    pq.write_table(table.replace_schema_metadata({b"calib.aggregate": metadata}), path)
    with texts.raises(ValueError):
        Aggregate.load(path)


@pytest.mark.parametrize(
    "forged",
    [
        {"written by": "me"},
        {"name": 5},
        {"exact": "no"},
        {"strata": [0]},
        {"strata": {"part": [2**70], "test": [-1], "fold": [-1], "group": [-1]}},
        {"parts": [["", ""]]},
        {"set_aside": {"no outcome": -1}},
        {"view_key": "best"},
        {"max_scores": None},
        {"transform": "eval"},
        {"swap": 1},
    ],
    ids=lambda forged: next(iter(forged)),
)
def test_what_is_known_of_forged_counts_is_refused(tmp_path: Path, forged: dict) -> None:
    path = tmp_path / "x.parquet"
    aggregate_rows(drawn(7), {}).save(path)
    table = pq.read_table(path)
    metadata = json.loads(table.schema.metadata[b"calib.aggregate"]) | forged
    pq.write_table(table.replace_schema_metadata({b"calib.aggregate": json.dumps(metadata)}), path)
    with pytest.raises(ValueError, match=r"x\.parquet is damaged"):
        Aggregate.load(path)


def test_what_differs_cannot_be_added(texts: Texts) -> None:
    view = drawn(8)
    with texts.raises(ValueError):
        aggregate_rows(view, {}) + aggregate_rows(view, sites(3000))
    with texts.raises(ValueError):
        aggregate_rows(view, {}) + aggregate_rows(view, {}, view_key="top:1")
    with texts.raises(ValueError):
        aggregate_rows(view, {}) + aggregate_rows(view, {}, transform="percent")
    clusters = BinaryView(view.outcome, view.score, group=np.arange(3000) // 5)
    with texts.raises(ValueError):
        aggregate_rows(clusters, {}) + aggregate_rows(clusters, {})


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_metrics_of_bounded_cells_are_near_those_of_exact_ones(seed: int) -> None:
    """Log loss to 2e-7 of a relative width of 0.2%, as the grid is made for."""
    rng = np.random.default_rng(seed)
    view = drawn(seed, digits=None)
    shape = rng.choice(["smooth", "spikes", "tails"])
    score = view.score
    if shape == "spikes":
        score = np.where(rng.random(3000) < 0.4, rng.choice([0.3333333, 0.7], 3000), score)
    if shape == "tails":
        score = np.where(score < 0.5, score ** rng.uniform(1, 300), score)
    rows = BinaryView(view.outcome, score)
    exact, few = rows.cells(), aggregate_rows(rows, {}, max_scores=1).rows().entries.cells()
    assert few.n_rows == 3000
    assert few.total_positive == exact.total_positive
    if not exact.one_class:
        assert auc(few) == pytest.approx(auc(exact), abs=2e-4)
    assert ks_error(few) == pytest.approx(ks_error(exact), abs=1e-3)
    assert log_loss(few) == pytest.approx(log_loss(exact), abs=1e-5)
    for bins in (10, 15, 20):
        ece = [expected_calibration_error(c, n_bins=bins, strategy="uniform") for c in (exact, few)]
        assert ece[1] == pytest.approx(ece[0], abs=1e-12)


def predictions(seed: int, n: int = 2000, **more) -> Predictions:
    view = drawn(seed, n)
    return Predictions.from_arrays(view.outcome, view.score, **more)


SETTINGS = calib.Settings(methods=("platt", "isotonic"))


def test_the_analysis_of_counts_is_that_of_the_rows():
    rows = predictions(1)
    counted = calib.analyze(calib.aggregate(rows), SETTINGS)
    analysis = calib.analyze(rows, SETTINGS)
    assert counted.table().equals(analysis.table())
    assert counted.verdict == analysis.verdict
    assert counted.recommendation == analysis.recommendation
    assert counted.data == analysis.data


def test_a_row_copied_is_a_count():
    rows = predictions(2, 700)
    thrice = Predictions.from_arrays(np.tile(rows.outcome, 3), np.tile(rows.scores, 3))
    once = calib.aggregate(rows)
    added = calib.analyze(once + once + once, SETTINGS)
    assert added.table().equals(calib.analyze(thrice, SETTINGS).table())


@rare
@pytest.mark.parametrize("digits", [2, None])
def test_an_analysis_does_not_know_the_order_of_the_rows(digits):
    view = drawn(3, 1500, digits=digits)
    order = np.random.default_rng(0).permutation(1500)
    first, second = (
        calib.analyze(Predictions.from_arrays(rows.outcome, rows.score), SETTINGS)
        for rows in (view, view.rows(order))
    )
    assert first.table().equals(second.table())
    assert first.verdict == second.verdict


def test_named_test_rows_and_clusters_are_analysed_from_counts(texts):
    split = predictions(4, test=np.arange(2000) % 3 == 0)
    counted = calib.analyze(calib.aggregate(split), SETTINGS)
    assert counted.table().equals(calib.analyze(split, SETTINGS).table())
    clustered = predictions(5, group=np.arange(2000) // 10)
    counted = calib.analyze(calib.aggregate(clustered), SETTINGS)
    analysis = calib.analyze(clustered, SETTINGS)
    assert counted.data.n_rows == analysis.data.n_rows == 2000
    for name in ("log_loss", "ks_error"):
        assert counted.table().loc["uncalibrated", name] == pytest.approx(
            analysis.table().loc["uncalibrated", name], rel=1e-12
        )
    with texts.raises(ValueError):
        calib.analyze(calib.aggregate(split), calib.Settings(view="class:0"))


def test_weighted_rows_of_clusters_give_the_same_evidence_from_counts():
    weight = 10.0 ** np.random.default_rng(0).uniform(-2, 2, 2000)
    clustered = predictions(5, sample_weight=weight, group=np.arange(2000) % 40)
    analyses = [calib.analyze(each, SETTINGS) for each in (clustered, calib.aggregate(clustered))]
    tests, counted = (each.methods["uncalibrated"].tests for each in analyses)
    for name, test in tests.items():
        assert counted[name].statistic == pytest.approx(test.statistic, rel=1e-9)
        assert counted[name].p_value == pytest.approx(test.p_value, rel=1e-9)


def test_a_column_of_ids_is_refused_in_a_sentence(texts):
    rows = predictions(6, columns={"id": np.arange(2000).astype(str), "site": ["a", "b"] * 1000})
    with texts.raises(ValueError):
        calib.aggregate(rows)
    counted = calib.aggregate(rows, slices=["site"])
    assert counted.by("site").names == ("a", "b")
    with texts.raises(ValueError):
        counted.by("id")


def in_folds(at: np.ndarray, names: str = "abc") -> Predictions:
    rows = predictions(7)
    fold = np.array(list(names))[np.arange(2000) * 7 % 11 % len(names)]
    return Predictions.from_arrays(rows.outcome[at], rows.scores[at], fold=fold[at])


def test_named_folds_are_kept_in_counts_that_add_up_and_are_saved(tmp_path):
    whole, first = np.ones(2000, dtype=bool), np.arange(2000) < 700
    added = calib.aggregate(in_folds(first)) + calib.aggregate(in_folds(~first))
    same(added, calib.aggregate(in_folds(whole)))
    added.save(tmp_path / "folds.parquet")
    again = Aggregate.load(tmp_path / "folds.parquet")
    assert again.fold_names == ("a", "b", "c")
    analysis = calib.analyze(in_folds(whole), SETTINGS)
    assert calib.analyze(again, SETTINGS).table().equals(analysis.table())
    assert calib.analyze(again, SETTINGS).data.named_folds == 3


def test_counts_of_other_folds_cannot_be_added(texts):
    whole = np.ones(2000, dtype=bool)
    with texts.raises(ValueError):
        calib.aggregate(in_folds(whole)) + calib.aggregate(in_folds(whole, "abd"))


@pytest.mark.parametrize("place", range(200, 1000, 61))
def test_a_changed_byte_of_the_cells_of_a_file_is_noticed(tmp_path, place):
    rng = np.random.default_rng(0)
    score = rng.random(500)
    rows = calib.Predictions.from_arrays(rng.random(500) < score, score)
    path = tmp_path / "counts.parquet"
    calib.aggregate(rows).save(path)
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        calib.Aggregate.load(path)
