"""The same rows give the same cells, whichever engine counts them."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import calib
from calib.loading import InputError
from calib.numerics.arrays import arrays_of
from calib.numerics.cells import MAX_EXACT_SCORES
from calib.scanning import rows_between
from calib.scanning.cell_queries import quantiles
from calib.scanning.sources import rows_of
from calib.scanning.watching import DuckEngine, Steps, watched
from tests.rare import common_first, rare
from tests.scanning.conftest import CUTS, assert_same, drawn, in_memory


def dask(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)


def ibis(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("ibis").memtable(frame)


ENGINES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame),
    "pyarrow dataset": lambda frame: ds.dataset(pa.Table.from_pandas(frame)),
    "duckdb": lambda frame: duckdb.connect().from_df(frame),
    "polars": lambda frame: pl.from_pandas(frame),
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "dask": dask,
    "ibis": ibis,
}
# A twentieth of the rows still has every kind of score, and enough of them in the crowded cell.
STEP = 20
COLUMNS = {"outcome": "outcome", "slices": CUTS, "time": "day"}
KINDS: dict[str, tuple[str, str | None, int]] = {
    "weighted, cut": ("score", "weight", 100),
    "single precision": ("narrow", None, MAX_EXACT_SCORES),
}
EACH = [(engine, kind) for engine in ENGINES for kind in KINDS]
OFTEN = ("pandas", "pyarrow", "duckdb", "polars lazy", "ibis")


@pytest.mark.filterwarnings(
    "ignore:Dask support is moving:FutureWarning",
    "ignore:The 'future.infer_string' option:DeprecationWarning",
)
@pytest.mark.parametrize(
    ("engine", "kind"),
    common_first(
        EACH,
        {(engine, "weighted, cut") for engine in ("pandas", "duckdb")}
        | {("polars lazy", "single precision")},
    ),
)
def test_every_engine_counts_the_cells_of_the_rows(engine: str, kind: str) -> None:
    score, weight, max_scores = KINDS[kind]
    frame = ENGINES[engine](drawn().iloc[::STEP].reset_index(drop=True))
    found = calib.scan(frame, score=score, weight=weight, max_scores=max_scores, **COLUMNS)
    assert_same(found, in_memory(score, weight, max_scores, step=STEP))


def test_the_same_rows_in_another_order_give_the_same_bits() -> None:
    rows = drawn().iloc[::STEP]
    other = rows.sample(frac=1.0, random_state=1)
    given = COLUMNS | {"score": "score", "weight": "weight", "slices": [("plan", "age")]}
    one, two = (calib.scan(each, max_scores=100, **given) for each in (rows, other))
    for name, values in arrays_of(one.table).items():
        np.testing.assert_array_equal(values, arrays_of(two.table)[name])
    assert one.fingerprint == two.fingerprint


@pytest.fixture
def small() -> pd.DataFrame:
    return drawn().iloc[::40].reset_index(drop=True)


def scanned(source: Any, **more: Any) -> calib.Aggregate:
    given = {"outcome": "outcome", "score": "score", "slices": ["site"]} | more
    return calib.scan(source, **given)


@rare
def test_files_folders_and_tables_hold_the_same(small: pd.DataFrame, tmp_path: Path) -> None:
    expected = scanned(small)
    small.to_csv(tmp_path / "rows.csv", index=False, float_format="%.17g")
    small.to_feather(tmp_path / "rows.feather")
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(small)), 3)):
        small.iloc[part].to_parquet(tmp_path / "parts" / f"{number}.parquet")
    pq.write_to_dataset(pa.Table.from_pandas(small), tmp_path / "hive", partition_cols=["site"])
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as database:
        database.execute("CREATE TABLE predictions AS SELECT * FROM small")
    sources = ["rows.csv", "rows.feather", "parts", "parts/*.parquet", "hive"]
    for source in sources:
        assert_same(scanned(tmp_path / source), expected)
    for source in ("rows.csv", "parts", "parts/*.parquet"):
        assert_same(scanned(str(tmp_path / source)), expected)
    assert_same(scanned(sorted((tmp_path / "parts").iterdir())), expected)
    assert_same(scanned(tmp_path / "rows.duckdb", table="predictions"), expected)
    assert scanned(tmp_path / "rows.csv").name == "rows"
    assert scanned(tmp_path / "parts" / "*.parquet").name == "parts"


def test_each_slice_column_costs_one_query(
    small: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In Spark, probing a column takes a quarter of the time of counting it, so it is not repeated.
    queries, collect = [], nw.LazyFrame.collect

    def recorded(self: Any, *positional: Any, **keywords: Any) -> Any:
        queries.append(self)
        return collect(self, *positional, **keywords)

    monkeypatch.setattr(nw.LazyFrame, "collect", recorded)
    costs = []
    for columns in (["site", "plan"], ["site", "plan", "part", "fold", "visits"]):
        queries.clear()
        scanned(small, slices=columns)
        costs.append(len(queries))
    assert costs[1] - costs[0] == 3


@pytest.mark.parametrize("engine", ["duckdb", "polars lazy"])
def test_columns_of_many_values_are_crossed_if_few_combinations_have_rows(engine: str) -> None:
    # 300 cities and 30 countries have 9,000 combinations. Rows have 330, some without a city.
    rows = drawn().iloc[::40].reset_index(drop=True)
    number = np.arange(len(rows)) % 300
    rows["country"] = [f"c{i % 30}" for i in number]
    rows["city"] = pd.Series([f"t{i}" for i in number]).where(np.arange(len(rows)) >= 300)
    pairs = [("country", "city")]
    counted = scanned(ENGINES[engine](rows), slices=pairs)
    options = {"slices": ["country", "city"], "positive": "yes", "exact": True}
    in_rows = calib.load(rows, outcome="outcome", score="score", **options)
    assert_same(counted, calib.aggregate(in_rows, pairs))
    assert sum(part.column == "country × city" for part in counted.parts) == 330


@pytest.mark.parametrize("apart", [{"split": "part"}, {"fold": "fold"}])
def test_split_and_folds_are_kept_apart(small: pd.DataFrame, apart: dict[str, str]) -> None:
    rows = small[["outcome", "score", "site", *apart.values()]]
    test = {"test_value": "test"} if "split" in apart else {}
    given = {"outcome": "outcome", "score": "score", "slices": ["site"], **apart, **test}
    in_rows = calib.aggregate(calib.load(rows, positive="yes", exact=True, **given))
    assert_same(calib.scan(rows, **given), in_rows)


def test_clusters_are_kept_apart(small: pd.DataFrame) -> None:
    rows = small.assign(person=small.index // 10)
    found = scanned(rows, group="person")
    assert len(np.unique(found.strata.group)) == 500


@pytest.mark.filterwarnings(
    "ignore:Dask support is moving:FutureWarning",
    "ignore:The 'future.infer_string' option:DeprecationWarning",
)
@pytest.mark.parametrize(
    "engine", common_first(["duckdb", "polars lazy", "dask", "ibis"], ["duckdb"])
)
def test_many_clusters_become_random_groups_of_whole_clusters(
    small: pd.DataFrame, engine: str
) -> None:
    rows = small.assign(person=small.index // 2)
    group = rows["person"].map(lambda person: hashlib.md5(str(person).encode()).hexdigest())
    group = group.str[:2] + group.str[2].isin(list("01234567")).map({True: "0", False: "8"})
    found = scanned(ENGINES[engine](rows), group="person")
    assert_same(found, scanned(rows.assign(person=group), group="person"))
    assert len(np.unique(found.strata.group)) == group.nunique() <= 512


def test_transforms_are_those_of_load(small: pd.DataFrame) -> None:
    score = small["score"].clip(0.01, 0.99)
    forms = {"percent": 100.0 * score, "tenths": 10.0 * score, "logit": np.log(score / (1 - score))}
    forms["exp"] = np.log(score)
    forms["clip"] = 1.2 * score - 0.1
    for transform, values in forms.items():
        rows = small.assign(score=values)[["outcome", "score"]]
        given = {"outcome": "outcome", "score": "score", "transform": transform, "swap": True}
        found = calib.scan(rows, **given)
        expected = calib.aggregate(calib.load(rows, positive="yes", exact=True, **given))
        for name in ("rows", "outcome"):
            np.testing.assert_array_equal(getattr(found.table, name), getattr(expected.table, name))
        # Engines round 1 - p, and log-odds that are read with `load` only change their sign.
        np.testing.assert_allclose(found.table.low, expected.table.low, rtol=1e-12)


def test_what_is_counted_can_be_analysed_saved_and_added(
    small: pd.DataFrame, tmp_path: Path
) -> None:
    half = len(small) // 2
    one, two = (scanned(part) for part in (small[:half], small[half:]))
    one.save(tmp_path / "one.parquet")
    both = calib.Aggregate.load(tmp_path / "one.parquet") + two
    in_rows = calib.analyze(both, {"methods": ("platt",)}).table()
    whole = calib.analyze(scanned(small), {"methods": ("platt",)}).table()
    np.testing.assert_allclose(in_rows["log_loss"], whole["log_loss"], rtol=1e-9)


def test_slices_of_a_csv_file_keep_leading_zeros(small: pd.DataFrame, tmp_path: Path) -> None:
    rows = small.assign(site=small.index % 3).astype({"site": str})
    rows["site"] = rows["site"].replace("2", "007")
    rows.to_csv(path := tmp_path / "it's.csv", index=False, float_format="%.17g")
    found = scanned(path, slices=["site", "visits"])
    assert [part.value for part in found.parts if part.column == "site"] == ["0", "1", "007"]
    assert_same(found, scanned(rows, slices=["site", "visits"]))
    fetched = rows_of(str(tmp_path))[0].to_pandas()
    pd.testing.assert_frame_equal(fetched[["site", "visits"]], rows[["site", "visits"]])


@rare
def test_progress_is_reported_and_a_scan_is_cancelled(tmp_path: Path) -> None:
    drawn().iloc[::STEP].to_parquet(tmp_path / "rows.parquet")
    reports: list[tuple[float, str]] = []

    def scan(**more: Any) -> calib.Aggregate:
        return calib.scan(
            tmp_path / "rows.parquet",
            score="score",
            max_scores=100,
            progress=lambda *report: reports.append(report),
            **COLUMNS,
            **more,
        )

    assert_same(scan(), in_memory("score", None, 100, step=STEP))
    shares = [share for share, _ in reports]
    assert shares == sorted(shares)
    assert reports[-1][1].startswith("Counting")
    with pytest.raises(InputError, match="was cancelled") as caught:
        scan(cancel=lambda: len(reports) > 1)
    assert caught.value.problems[0].code == "cancelled"


def test_a_running_query_of_duckdb_is_interrupted() -> None:
    connection = duckdb.connect()
    # The query would take minutes if it were not interrupted.
    endless = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
    with pytest.raises(InputError, match="was cancelled"):
        watched(
            lambda: connection.execute(endless),
            DuckEngine(connection),
            Steps(),
            None,
            lambda: True,
        )


@rare
def test_a_million_rows_of_a_file_give_metrics_within_their_certified_bounds(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    score = rng.beta(0.3, 0.6, 1_000_000)
    outcome = rng.random(len(score)) < score**1.2
    pd.DataFrame({"y": outcome.astype(int), "p": score}).to_parquet(tmp_path / "rows.parquet")
    counted = calib.scan(tmp_path / "rows.parquet", outcome="y", score="p")
    metrics = calib.analyze(counted, {"methods": ("platt",)}).table().iloc[0]
    gaps = np.cumsum((outcome - score)[np.argsort(score, kind="stable")])
    exact = {
        "log_loss": log_loss(outcome, score),
        "brier_score": brier_score_loss(outcome, score),
        "auc": roc_auc_score(outcome, score),
        "ks_error": np.abs(gaps).max() / len(score),
    }
    for name, value in exact.items():
        resolution = metrics[f"{name}_resolution"]
        assert 0.0 < resolution < 1e-5
        assert abs(metrics[name] - value) <= resolution


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option:DeprecationWarning")
@pytest.mark.parametrize("engine", ["duckdb", "polars lazy", "ibis"])
def test_rows_of_a_bin_are_fetched_from_the_source(small: pd.DataFrame, engine: str) -> None:
    frame, columns = ENGINES[engine](small), {"outcome": "outcome", "score": "score"}
    found = rows_between(frame, 0.5, 0.6, limit=10_000, **columns)
    inside = small[small["score"].between(0.5, 0.6)]
    assert sorted(found["weight"]) == sorted(inside["weight"])
    assert list(found.columns) == list(small.columns)
    few = rows_between(frame, 0.4, 0.5, limit=7, swap=True, **columns)
    assert len(few) == 7
    assert few["score"].between(0.5, 0.6).all()
    with pytest.raises(ValueError, match="0 <= low <= high <= 1"):
        rows_between(frame, 0.6, 0.5, **columns)


def test_quantiles_of_a_long_column_are_exact() -> None:
    rows = duckdb.sql("SELECT range::DOUBLE AS calib_value FROM range(1000001)")
    assert quantiles(nw.from_native(rows).lazy(), [0.25, 0.5]) == [250_000.0, 500_000.0]
