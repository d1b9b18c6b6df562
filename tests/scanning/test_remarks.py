"""Remarks of a scan are the sentences of uploads about rows that may mislead."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import calib
from calib.data.aggregate import Aggregate
from calib.data.file_options import Columns
from calib.data.origin import code_of
from calib.loading import InputError
from calib.loading.reading.reader import read
from tests.assessed import inspect
from tests.scanning.conftest import assert_same


def rows(n: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    score = rng.random(n)
    return pd.DataFrame({"y": (rng.random(n) < score).astype(int), "p": score})


MAPPED = Columns(outcome="y", score="p", positive="1", time="day")
Change = Callable[[pd.DataFrame], pd.DataFrame]
CASES: dict[str, tuple[Change, dict[str, Any]]] = {
    "few": (lambda d: d.assign(y=(d["p"] > 0.95) * 1), {}),
    "constant": (lambda d: d.assign(p=0.3), {}),
    "labels-only": (lambda d: d.assign(p=(d["p"] > 0.5) * 1.0), {}),
    "swapped": (lambda d: d.assign(p=1.0 - d["p"]), {}),
    "positive-class": (
        lambda d: d.assign(y=np.where(d["y"], "bad", "good"), p=0.3 * d["p"]),
        {"positive": "bad"},
    ),
    "train-rows": (
        lambda d: d.assign(part=np.where(d.index % 2, "test", "train")),
        {"split": "part", "test_value": "test"},
    ),
    "split-values": (
        lambda d: d.assign(part=np.array(["test", "a", "b"])[d.index % 3]),
        {"split": "part", "test_value": "test"},
    ),
}


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("code", CASES)
def test_warnings_have_the_words_of_the_data_page(code: str, engine: str) -> None:
    change, more = CASES[code]
    data = change(rows())
    mapping = Columns(**({"outcome": "y", "score": "p", "positive": "1"} | more))
    # Rows of predicted labels are refused; counts of them can be added to others.
    expected = [
        problem
        for problem in inspect(read(data), mapping)
        if problem.severity == "warning" or problem.code == "labels-only"
    ]
    assert code in {problem.code for problem in expected}
    source = data if engine == "duckdb" else pl.from_pandas(data).lazy()
    counted = calib.scan(source, outcome="y", score="p", **more)
    assert sorted(counted.remarks) == sorted(problem.sentence for problem in expected)


def test_scores_without_a_fault_have_no_remarks() -> None:
    assert calib.scan(rows(), outcome="y", score="p", slices=[]).remarks == ()


def test_times_that_are_no_dates_are_told(texts) -> None:
    days = pd.Series(["2024-03-01", "2024-03-02"] * 500)
    days[:7] = "someday"
    counted = calib.scan(rows().assign(day=days), outcome="y", score="p", time="day")
    (remark,) = counted.remarks
    texts.shown(remark)


def test_day_and_month_that_could_be_exchanged_are_asked_about(texts) -> None:
    days = pd.Series(["03/04/2024", "04/03/2024"] * 500)
    with texts.raises(InputError) as caught:
        calib.scan(rows().assign(day=days), outcome="y", score="p", time="day")
    assert caught.value.problems[0].code == "date-order"


def test_a_class_of_one_row_is_told_since_other_rows_may_be_added() -> None:
    data = rows().assign(y=0)
    data.loc[3, "y"] = 1
    with pytest.raises(InputError) as expected:
        calib.load(data, outcome="y", score="p")
    counted = calib.scan(data, outcome="y", score="p")
    assert expected.value.problems[0].sentence in counted.remarks
    assert (counted + calib.scan(rows(), outcome="y", score="p")).remarks == ()


def test_classes_without_rows_are_told() -> None:
    rng = np.random.default_rng(0)
    score = pd.DataFrame(rng.dirichlet(np.ones(3), 500), columns=["p_0", "p_1", "p_2"])
    data = score.assign(y=rng.integers(0, 2, 500))
    mapping = Columns(outcome="y", score=("p_0", "p_1", "p_2"))
    expected = [
        problem for problem in inspect(read(data), mapping) if problem.severity == "warning"
    ]
    counted = calib.scan(data, outcome="y", score=["p_0", "p_1", "p_2"])
    assert [problem.code for problem in expected] == ["unseen-classes"]
    assert counted.remarks == tuple(problem.sentence for problem in expected)


def test_remarks_are_warnings_of_the_analysis_and_of_one_model(tmp_path: Any) -> None:
    data = rows().assign(other=1.0 - rows()["p"])
    counted = calib.scan(data, outcome="y", models=["p", "other"])
    ((remark,),) = counted.noticed.values()
    assert list(counted.noticed) == ["other"]
    assert remark.code == "swapped"
    assert counted.of_model("p").remarks == ()
    assert counted.of_model("other").remarks == (remark,)
    analysis = calib.analyze(counted.of_model("other"), {"methods": ("platt",)})
    # The remark names the column, so the analysis does not say it in its own words too.
    assert [one for one in analysis.warnings if code_of(one) == "swapped"] == [remark]
    of_rows = calib.analyze(calib.load(data, outcome="y", score="other"), {"methods": ("platt",)})
    assert [code_of(one) for one in of_rows.warnings].count("swapped") == 1
    # A saved file can come from anyone, so its sentences are not shown.
    counted.save(tmp_path / "cells.parquet")
    kept = Aggregate.load(tmp_path / "cells.parquet")
    assert_same(kept, counted)
    assert kept.remarks == ()


def written(data: pd.DataFrame, path: Path) -> Path:
    data.to_parquet(path) if path.suffix == ".parquet" else data.to_csv(path, index=False)
    return path


ZONED: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "frame": lambda data, _: data,
    "polars": lambda data, _: pl.from_pandas(data).lazy(),
    "Parquet": lambda data, folder: written(data, folder / "x.parquet"),
    "CSV": lambda data, folder: written(data, folder / "x.csv"),
    "text": lambda data, _: data.assign(day=data["day"].astype(str)),
}


@pytest.mark.parametrize("kind", ZONED)
def test_times_with_a_zone_say_which_day_counts(kind: str, tmp_path: Path) -> None:
    """23:30 in New York is the next day in UTC."""
    data = rows().assign(day=pd.Timestamp("2024-03-01 23:30", tz="America/New_York"))
    expected = [problem for problem in inspect(read(data), MAPPED) if problem.code == "time-zone"]
    counted = calib.scan(ZONED[kind](data, tmp_path), outcome="y", score="p", time="day")
    assert list(counted.remarks) == [problem.sentence for problem in expected]
    assert set(counted.frame()["value"]) == {"", "2024-03-01"}


def _ibis_table(path: str, zone: str) -> Any:
    backend = pytest.importorskip("ibis").duckdb.connect(path)
    backend.raw_sql(f"SET TimeZone = '{zone}'")
    return backend.table("t")


def _relation(path: str, zone: str) -> Any:
    connection = duckdb.connect(path)
    connection.execute(f"SET TimeZone = '{zone}'")
    return connection.table("t")


@pytest.mark.parametrize(
    ("zone", "day"), [("Asia/Tokyo", "2024-03-02"), ("America/New_York", "2024-03-01")]
)
@pytest.mark.parametrize("opened", [_relation, _ibis_table], ids=["DuckDB", "Ibis"])
# Ibis 12 calls a method of DuckDB that its newest version deprecates.
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_days_of_a_connection_name_its_zone(
    opened: Callable[[str, str], Any], zone: str, day: str, tmp_path: Path
) -> None:
    """A database stores instants; their day depends on the zone of the connection."""
    path = str(tmp_path / "rows.duckdb")
    with duckdb.connect(path) as connection:
        connection.register("data", rows().assign(day=pd.Timestamp("2024-03-01 22:30", tz="UTC")))
        connection.execute("CREATE TABLE t AS SELECT * FROM data")
    source = opened(path, zone)
    counted = calib.scan(source, outcome="y", score="p", time="day")
    expected = f"Each row counts to its day in `{zone}`, the time zone of the connection."
    assert counted.remarks == (f"The times of `day` have a time zone. {expected}",)
    assert set(counted.frame()["value"]) == {"", day}


def test_a_zone_that_duckdb_does_not_know_counts_days_in_utc(texts) -> None:
    data = rows().assign(day=pd.Timestamp("2024-03-02 00:30+02:00"))
    counted = calib.scan(data, outcome="y", score="p", time="day")
    texts.shown(counted.remarks[0])
    assert set(counted.frame()["value"]) == {"", "2024-03-01"}


@pytest.mark.parametrize("kind", ZONED)
def test_times_without_a_zone_say_nothing_of_one(kind: str, tmp_path: Path) -> None:
    data = rows().assign(day=pd.Timestamp("2024-03-01 23:30"))
    counted = calib.scan(ZONED[kind](data, tmp_path), outcome="y", score="p", time="day")
    assert counted.remarks == ()
