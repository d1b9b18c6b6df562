"""Views of one score column per class are those of the rows in memory."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calib
from calib.cli.main import main
from calib.data.aggregate import Aggregate
from calib.loading import InputError
from tests.rare import common_first, rare
from tests.scanning.conftest import assert_same

CLASSES = ["ant", "bee", "cow", "dog"]
SCORES = [f"p_{name}" for name in CLASSES]


def dask(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)


def ibis(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("ibis").memtable(frame)


ENGINES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame),
    "duckdb": lambda frame: duckdb.connect().from_df(frame),
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "dask": dask,
    "ibis": ibis,
}
EACH = [(name, *view) for name in ENGINES for view in (("top:1", 100), ("class:2", 100_000))]
ALL = pytest.mark.filterwarnings(
    "ignore:Dask support is moving:FutureWarning",
    "ignore:The 'future.infer_string' option:DeprecationWarning",
)


def drawn(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    score = rng.dirichlet(np.full(4, 0.6), n)
    # Rows have ties of the largest scores, in pairs of every order, and scores of exactly 1.
    score[:600, 0], score[:600, 2] = 0.4, 0.4
    score[:600, 1], score[:600, 3] = 0.1, 0.1
    score[600:900] = 0.25
    score[900:1000] = np.eye(4)[rng.integers(0, 4, 100)]
    label = np.minimum((rng.random(n)[:, None] > score.cumsum(axis=1)).sum(axis=1), 3)
    rows = pd.DataFrame(score, columns=SCORES)
    rows["y"] = np.array(CLASSES)[label]
    rows["site"] = rng.choice(["north", "south"], n)
    rows["w"] = rng.random(n) + 0.1
    return rows


def in_memory(rows: pd.DataFrame, view: str, max_scores: int, **more: Any) -> Aggregate:
    given = {"outcome": "y", "score": SCORES, "slices": ["site"], "weight": "w", "exact": True}
    predictions = calib.load(rows, **(given | more))
    return calib.aggregate(predictions, view=view, max_scores=max_scores)


def scanned(source: Any, **more: Any) -> Aggregate:
    given = {"outcome": "y", "score": SCORES, "slices": ["site"], "weight": "w"}
    return calib.scan(source, **(given | more))


@ALL
@pytest.mark.parametrize(
    ("engine", "view", "max_scores"),
    # A class is counted like a single score, which test_engines.py tries with all engines. Dask
    # takes seconds to plan a query.
    common_first(
        EACH,
        {(engine, "top:1", 100) for engine in ENGINES if engine != "dask"}
        | {(engine, "class:2", 100_000) for engine in ("pandas", "duckdb")},
    ),
)
def test_views_are_those_of_the_rows(engine: str, view: str, max_scores: int) -> None:
    found = scanned(ENGINES[engine](drawn()), view=view, max_scores=max_scores)
    expected = in_memory(drawn(), view, max_scores)
    assert_same(found, expected)
    for name in ("view_key", "positive_name", "score_name", "class_names"):
        assert getattr(found, name) == getattr(expected, name)


def test_the_top_label_is_the_default_and_can_be_analysed() -> None:
    found = scanned(drawn())
    assert found.view_key == "top:1"
    table = calib.analyze(found, {"methods": ("platt",)}).table()
    expected = calib.analyze(in_memory(drawn(), "top:1", 200_000), {"methods": ("platt",)}).table()
    np.testing.assert_allclose(table["log_loss"], expected["log_loss"], rtol=1e-12)


def test_labels_that_are_numbers_are_the_places_of_the_columns(texts) -> None:
    rows = drawn()
    rows["y"] = rows["y"].map({name: i for i, name in enumerate(CLASSES)})
    found = scanned(rows, view="class:3")
    texts.shown(" ".join(found.noticed[""]))
    given = {"classes": range(len(CLASSES))}
    assert_same(scanned(rows, view="class:3", **given), found)
    assert_same(found, in_memory(rows, "class:3", 200_000, **given))


@pytest.mark.parametrize("transform", ["softmax", "normalize", "percent"])
@pytest.mark.parametrize("engine", common_first(["duckdb", "polars lazy"], ["duckdb"]))
def test_transforms_of_rows_are_those_of_load(engine: str, transform: str) -> None:
    rows = drawn().iloc[1000:].reset_index(drop=True)
    rng = np.random.default_rng(1)
    if transform == "softmax":
        rows[SCORES] = np.log(rows[SCORES]) + 30.0 * rng.random((len(rows), 1))
        rows.loc[0, "p_bee"] = -np.inf
    else:
        rows[SCORES] *= 100.0 if transform == "percent" else rng.random((len(rows), 1)) + 0.5
    found = scanned(ENGINES[engine](rows), transform=transform)
    expected = in_memory(rows, "top:1", 200_000, transform=transform)
    totals = [
        each.frame()[["column", "value", "outcome", "rows"]]
        .groupby(["column", "value", "outcome"])
        .sum()
        for each in (found, expected)
    ]
    pd.testing.assert_frame_equal(*totals)
    np.testing.assert_allclose(np.sort(found.table.low), np.sort(expected.table.low), rtol=1e-12)


def test_rows_that_are_set_aside_are_counted_as_load_counts_them(texts) -> None:
    rows = drawn()
    rows.loc[:4, "y"] = None
    rows.loc[3:9, "y"] = "emu"
    rows.loc[8:14, "p_cow"] = np.nan
    rows.loc[20:22, "p_dog"] = np.inf
    expected = in_memory(rows, "top:1", 200_000, drop_missing=True)
    for engine in ("duckdb", "polars lazy"):
        found = scanned(ENGINES[engine](rows), drop_missing=True)
        assert_same(found, expected)
    assert found.set_aside == {
        "outcome missing": 3,
        "outcome none of the classes": 7,
        "score missing": 5,
        "score infinite": 3,
    }
    with texts.raises(InputError) as caught:
        scanned(rows)
    assert caught.value.problems[0].code == "outside-classes"


Change = Callable[[pd.DataFrame], pd.DataFrame]
PERCENT = drawn()[SCORES] * 100.0
LOGITS = np.log(drawn()[SCORES] + 1e-3) + 1.0
CASES: list[tuple[str, Change]] = [
    ("row-sums", lambda d: d.assign(p_ant=d["p_ant"] * 0.9)),
    ("row-sums", lambda d: d.assign(p_ant=d["p_ant"].mask(d.index < 5, 0.7))),
    ("percent", lambda d: d.assign(**PERCENT)),
    ("logits", lambda d: d.assign(**LOGITS)),
    ("class-order", lambda d: d.assign(y=d["y"].str.replace("cow", "emu").str[:1] + "x")),
    ("class-columns", lambda d: d.assign(y=d["y"] + np.array(["x", "y"])[d.index % 2])),
    ("one-class", lambda d: d.assign(y="ant")),
    ("labels-only", lambda d: d.assign(**{name: 3 * (d[name] > 0.3) for name in LOGITS})),
    ("not-logits", lambda d: d),
    ("outside", lambda d: d.assign(**LOGITS)),
    ("infinite", lambda d: d.assign(p_ant=d["p_ant"].mask(d.index < 5, np.inf))),
]


@pytest.mark.parametrize("engine", common_first(["duckdb", "polars lazy"], ["duckdb"]))
@pytest.mark.parametrize(("code", "change"), CASES)
def test_problems_have_the_codes_and_repairs_that_load_gives(
    code: str, change: Change, engine: str
) -> None:
    rows = change(drawn())
    transform = {"not-logits": "softmax", "outside": "normalize"}.get(code, "none")
    with pytest.raises(InputError) as expected:
        in_memory(rows, "top:1", 200_000, transform=transform)
    with pytest.raises(InputError) as found:
        scanned(ENGINES[engine](rows), transform=transform)
    assert found.value.problems[0].code == expected.value.problems[0].code == code
    theirs, ours = (each.value.problems[0].repair for each in (expected, found))
    assert (theirs is None) == (ours is None)
    if theirs is not None and ours is not None:
        assert (ours.transform, ours.drop_missing) == (theirs.transform, theirs.drop_missing)


def test_views_that_no_engine_counts_are_refused(texts) -> None:
    for view, words in (("top:2", "needs calib.load"), ("class:4", "class:4"), ("x", "must look")):
        with pytest.raises(InputError, match=words):
            scanned(drawn(), view=view)
    with texts.raises(InputError) as caught:
        scanned(drawn(), score="p_ant", view="top:1")
    assert caught.value.problems[0].code == "view"
    with pytest.raises(InputError) as caught:
        scanned(drawn().assign(y=drawn()["y"] == "ant"), score="p_ant", transform="softmax")
    assert caught.value.problems[0].code == "not-a-matrix"


def test_models_of_class_scores_are_counted_apart() -> None:
    rows = drawn().assign(version=np.arange(3000) % 2)
    found = scanned(rows, model="version")
    for model, own in rows.groupby("version"):
        assert_same(
            found.of_model(str(model)), in_memory(own.drop(columns="version"), "top:1", 200_000)
        )


@rare
@pytest.mark.parametrize("classes", common_first([150, 1000], [150]))
def test_many_classes_are_counted(classes: int) -> None:
    rng = np.random.default_rng(0)
    score = rng.dirichlet(np.full(classes, 0.05), 2 * classes)
    columns = [f"p_{i}" for i in range(classes)]
    rows = pd.DataFrame(score, columns=columns).assign(y=rng.integers(0, classes, 2 * classes))
    found = calib.scan(rows, outcome="y", score=columns)
    predictions = calib.load(rows, outcome="y", score=columns, exact=True)
    assert_same(found, calib.aggregate(predictions, view="top:1"))


def test_the_command_line_counts_a_view(tmp_path: Path) -> None:
    drawn().to_parquet(tmp_path / "rows.parquet")
    scores = [f"--score={name}" for name in SCORES]
    rest = ["--outcome=y", "--view=class:1", "-o", str(tmp_path / "cells.parquet")]
    assert main(["scan", str(tmp_path / "rows.parquet"), *scores, *rest]) == 0
    assert Aggregate.load(tmp_path / "cells.parquet").positive_name == "bee"


def of_three_classes(n: int = 20_000) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(rng.dirichlet(np.ones(3), n), columns=["p_a", "p_b", "p_c"])
    rows["y"] = np.array(["a", "b", "c"])[rng.integers(0, 3, n)]
    return rows.assign(row=np.arange(n), tags=[["x"]] * n)


MATRIX = {"outcome": "y", "score": ["p_a", "p_b", "p_c"], "n": 1000}


@rare
@ALL
@pytest.mark.parametrize("engine", ENGINES)
def test_a_sample_has_the_rows_of_the_smallest_hashes_in_every_engine(engine: str, texts) -> None:
    rows = of_three_classes()
    hashes = [hashlib.md5(f"7|{row}".encode()).hexdigest()[:8] for row in rows["row"]]
    order = np.argsort(hashes, kind="stable")[:1000]
    found = calib.scan_sample(
        ENGINES[engine](rows.drop(columns="tags")), seed=7, key="row", **MATRIX
    )
    expected = rows[["p_a", "p_b", "p_c"]].to_numpy()[order]
    np.testing.assert_allclose(found.scores, expected, rtol=1e-14)
    texts.shown(found.remarks[0], "each case")


def test_a_sample_does_not_depend_on_the_order_of_the_rows_and_is_analysed_as_a_matrix(
    tmp_path: Path,
) -> None:
    rows = of_three_classes()
    rows.to_parquet(tmp_path / "rows.parquet")
    one = calib.scan_sample(tmp_path / "rows.parquet", **MATRIX)
    other = calib.scan_sample(rows.sample(frac=1.0, random_state=0), **MATRIX)
    assert one.fingerprint == other.fingerprint
    assert calib.scan_sample(rows, seed=1, **MATRIX).fingerprint != one.fingerprint
    analysis = calib.analyze(one, {"methods": ("temperature",)})
    assert "1,000 of 20,000 rows" in analysis.warnings[0]
    assert analysis.multiclass is not None


def test_small_sources_are_loaded_whole_and_rows_that_repeat_each_other_are_refused(texts) -> None:
    rows = of_three_classes(800)
    assert len(whole := calib.scan_sample(rows, **MATRIX)) == 800
    assert "sample" not in " ".join(whole.remarks)
    few = pd.concat([rows.drop(columns="row")[:50]] * 100, ignore_index=True)
    with texts.raises(InputError) as caught:
        calib.scan_sample(few, **MATRIX)
    assert caught.value.problems[0].code == "no-sample"
    assert caught.value.problems[0].code == "no-sample"
    assert len(calib.scan_sample(few.assign(row=few.index), key="row", **MATRIX)) == 1000
    with pytest.raises(InputError, match="`id` of `key`"):
        calib.scan_sample(few, key="id", **MATRIX)
    with pytest.raises(ValueError, match="100 to 1,000,000"):
        calib.scan_sample(rows, **(MATRIX | {"n": 10}))
