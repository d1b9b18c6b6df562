"""Counts of parts, added up, against the counts of the whole."""

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
import pytest

import calib
from calib.data.aggregating import add_counts
from calib.data.predictions import Predictions
from calib.reports import Report
from calib.reports.contents.codec import encode
from tests.rare import common_first

N_ROWS = 2000
RNG = np.random.default_rng(5)
SCORE = RNG.beta(0.6, 0.8, N_ROWS)
OUTCOME = RNG.random(N_ROWS) < SCORE**1.4
WEIGHT = RNG.exponential(size=N_ROWS) + 0.1
TEST = RNG.random(N_ROWS) < 0.5


def counted(rows: np.ndarray, kind: str = "plain", **more) -> calib.Aggregate:
    max_scores = 100 if kind == "grid" else 200_000
    if kind == "weights":
        more["sample_weight"] = WEIGHT[rows]
    if kind == "test rows":
        more["test"] = TEST[rows]
    data = Predictions.from_arrays(OUTCOME[rows], SCORE[rows], name="site", **more)
    return calib.aggregate(data, max_scores=max_scores)


def parts(k: int, kind: str) -> Mapping[str, calib.Aggregate]:
    cut = np.array_split(np.random.default_rng(k).permutation(N_ROWS), k)
    return {f"{i}.parquet": counted(rows, kind) for i, rows in enumerate(cut)}


@pytest.mark.parametrize("k", [2, 20])
@pytest.mark.parametrize("kind", ["plain", "weights", "test rows"])
def test_the_sum_of_parts_is_the_whole(k: int, kind: str):
    whole, total = counted(np.arange(N_ROWS), kind), add_counts(parts(k, kind))
    assert (total.name, total.n_rows) == ("site", N_ROWS)
    assert total.frame()[["rows", "low", "high"]].equals(whole.frame()[["rows", "low", "high"]])
    assert total.frame()["weight"].to_numpy() == pytest.approx(whole.frame()["weight"].to_numpy())


def test_the_analysis_of_the_sum_is_that_of_all_rows():
    settings = calib.Settings(methods=("platt",))
    whole = calib.analyze(counted(np.arange(N_ROWS)), settings)
    total = calib.analyze(add_counts(parts(2, "plain")), settings)
    assert encode(total.methods) == encode(whole.methods)
    assert encode(total.verdict) == encode(whole.verdict)


def test_the_name_of_the_sum_lists_three_names():
    cut = np.array_split(np.arange(400), 5)
    named = {
        name: calib.aggregate(Predictions.from_arrays(OUTCOME[rows], SCORE[rows], name=name))
        for name, rows in zip("abcde", cut, strict=True)
    }
    assert add_counts(named).name == "a + b + c and 2 more"
    assert add_counts({name: named[name] for name in "ab"}).name == "a + b"


def test_what_does_not_go_together_is_refused(texts):
    rows = np.arange(400)
    first = {"a.parquet": counted(rows[:200])}
    for other in (
        first["a.parquet"],
        counted(rows[200:], "weights"),
        counted(rows[200:], fold=rows[200:] % 3),
        counted(rows[200:], group=rows[200:] // 10),
    ):
        with texts.raises(ValueError):
            add_counts(first | {"b.parquet": other})


@pytest.mark.parametrize("kind", ["plain", "grid"])
def test_the_same_rows_are_refused_in_any_order_and_with_fewer_digits(kind: str, texts):
    rows = np.arange(600)
    order = np.random.default_rng(2).permutation(rows)
    rounded = Predictions.from_arrays(OUTCOME[rows], SCORE[rows].round(12))
    others = [counted(order, kind), *([calib.aggregate(rounded)] if kind == "plain" else [])]
    for other in others:
        with texts.raises(ValueError):
            add_counts({"a": counted(rows, kind), "b": other})


@pytest.mark.parametrize("shared", common_first([590, 600], [590]))
def test_counts_that_share_most_rows_are_refused(shared: int):
    first, other = counted(np.arange(600)), counted(np.r_[np.arange(shared), 700:711])
    with pytest.raises(ValueError, match=f"share {shared} of 600 scores"):
        add_counts({"a": first, "b": other})


def test_sites_with_the_same_few_scores_are_added():
    rng = np.random.default_rng(1)
    counts = {}
    for name in ("a", "b"):
        score = rng.random(500).round(2)
        rows = Predictions.from_arrays(rng.random(500) < score, score)
        counts[name] = calib.aggregate(rows)
    assert add_counts(counts).frame().equals(reduce(add, counts.values()).frame())


def test_the_counts_of_exact_reports_are_saved_and_added(tmp_path):
    settings, counts = calib.Settings(methods=("platt",)), {}
    for name, rows in (("north", slice(0, 800)), ("south", slice(800, N_ROWS))):
        data = Predictions.from_arrays(OUTCOME[rows], SCORE[rows])
        report = Report.from_analysis(calib.analyze(data, settings), grade="exact")
        report.evidence.cells.save(tmp_path / name)
        counts[name] = calib.Aggregate.load(tmp_path / name)
    whole = calib.analyze(counted(np.arange(N_ROWS)), settings)
    assert encode(calib.analyze(add_counts(counts), settings).methods) == encode(whole.methods)
