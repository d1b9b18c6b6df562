"""The counting query in servers that the tests start, and of half a million rows.

Tests of Spark Connect and those of classic Spark run side by side, each in a process of its own.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import calib
from calib.loading import InputError
from tests.scanning import spark, test_models, test_views
from tests.scanning.conftest import CUTS, assert_same, drawn, in_memory
from tests.scanning.test_query import NAMED, of_cells
from tests.store import postgres

pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings(
        "ignore:PySpark does not yet fully support pandas:FutureWarning",
        "ignore:Dask support is moving:FutureWarning",
        "ignore:The 'future.infer_string' option:DeprecationWarning",
        "ignore:The inplace keyword in DataFrame:DeprecationWarning",
        "ignore:fetch_arrow_table:DeprecationWarning",
        # PySpark closes its sockets only when the process ends.
        "ignore::ResourceWarning",
        "ignore::pytest.PytestUnraisableExceptionWarning",
    ),
]
N_ROWS = 500_000
MAX_SCORES = 100
COLUMNS = {"outcome": "outcome", "score": "score", "slices": CUTS, "time": "day"}
WEIGHTED = {**COLUMNS, "weight": "weight", "max_scores": MAX_SCORES}
# The tests of failures count fewer columns, which takes less time.
FEW_COLUMNS = {
    "outcome": "outcome",
    "score": "score",
    "slices": ["site", "plan"],
    "max_scores": MAX_SCORES,
}
in_connect = pytest.mark.xdist_group("connect")
in_classic = pytest.mark.xdist_group("classic")
SESSIONS = [
    pytest.param("connected", marks=in_connect),
    pytest.param("classic", marks=in_classic),
]


@pytest.fixture(scope="module")
def server() -> Iterator[psycopg.Connection]:
    binaries = postgres.programs()
    if binaries is None:
        pytest.skip(postgres.MISSING)
    with (
        postgres.cluster(binaries) as folder,
        psycopg.connect(host=str(folder), user="calib", dbname="postgres", autocommit=True) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def cluster() -> Iterator[spark.Cluster]:
    if reason := spark.missing():
        pytest.skip(reason)
    with spark.cluster(spark.QUICK) as made:
        yield made


@pytest.fixture(scope="module")
def connected(cluster: spark.Cluster) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(cluster.connect).create()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def classic(cluster: spark.Cluster) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(cluster.master)
    for name, value in cluster.settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    """A folder that every user may read, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="calib-rows-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    """All rows as eight files."""
    made = shared / "rows"
    made.mkdir()
    rows = drawn(N_ROWS)
    for number, some in enumerate(np.array_split(np.arange(N_ROWS), 8)):
        rows.iloc[some].to_parquet(made / f"{number}.parquet", index=False)
    return made


def as_table(server: psycopg.Connection, rows: pd.DataFrame) -> None:
    columns = ["outcome", "score", "weight", "site", "plan", "age", "visits", "day"]
    with server.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS scores")
        cursor.execute(
            "CREATE TABLE scores (outcome text, score float8, weight float8, site text, plan text, "
            "age float8, visits int, day timestamp)"
        )
        with cursor.copy(f"COPY scores ({', '.join(columns)}) FROM STDIN (FORMAT csv)") as copy:
            copy.write(rows[columns].to_csv(index=False, header=False))


def of_postgresql(request: pytest.FixtureRequest, n: int) -> Any:
    ibis = pytest.importorskip("ibis")
    server = request.getfixturevalue("server")
    as_table(server, drawn(n))
    found = ibis.postgres.connect(host=server.info.host, user="calib", database="postgres")
    return found.table("scores")


def of_spark(session: str) -> Callable[[pytest.FixtureRequest, Path], Any]:
    return lambda request, folder: request.getfixturevalue(session).read.parquet(str(folder))


ENGINES: dict[str, Callable[[pytest.FixtureRequest, Path], Any]] = {
    "pandas": lambda *_: drawn(N_ROWS),
    "polars": lambda _, folder: pl.scan_parquet(folder),
    "pyarrow": lambda _, folder: pq.read_table(folder),
    "pyarrow dataset": lambda _, folder: ds.dataset(folder),
    "duckdb": lambda _, folder: folder,
    "dask": lambda _, folder: pytest.importorskip("dask.dataframe").read_parquet(folder),
    "ibis duckdb": lambda _, folder: pytest.importorskip("ibis").read_parquet(folder / "*.parquet"),
}
IN_SPARK = {"spark connect": of_spark("connected"), "spark classic": of_spark("classic")}


@pytest.mark.parametrize(
    "engine",
    [
        *ENGINES,
        pytest.param("spark connect", marks=in_connect),
        pytest.param("spark classic", marks=in_classic),
    ],
)
def test_many_rows_give_the_same_aggregate_from_every_engine(
    engine: str, request: pytest.FixtureRequest, folder: Path
) -> None:
    found = calib.scan((ENGINES | IN_SPARK)[engine](request, folder), **WEIGHTED)
    assert_same(found, in_memory("score", "weight", MAX_SCORES, n=N_ROWS))


def test_postgresql_gives_the_same_aggregate_through_ibis(request: pytest.FixtureRequest) -> None:
    # PostgreSQL counts in a single process, which would take minutes for all rows.
    found = calib.scan(of_postgresql(request, 200_000), **WEIGHTED)
    assert_same(found, in_memory("score", "weight", MAX_SCORES))


@pytest.mark.parametrize("engine", ["postgresql", pytest.param("spark", marks=in_connect)])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_query_as_text_counts_the_cells_of_the_rows(
    engine: str,
    weight: str | None,
    request: pytest.FixtureRequest,
    shared: Path,
    tmp_path: Path,
) -> None:
    rows = drawn()
    if weight:
        # PostgreSQL refuses products that underflow, such as a weight times the least floats.
        rows = rows[(rows["score"] == 0.0) | (rows["score"] > 1e-300)]
    asked = {"table": "scores", "time": "day", "weight": weight, **NAMED}
    if engine == "postgresql":
        as_table(server := request.getfixturevalue("server"), rows)
        with server.cursor() as cursor:
            cursor.execute(calib.scan_sql("postgres", **asked))
            names = [each.name for each in cursor.description]
            result = pd.DataFrame(cursor.fetchall(), columns=names)
    else:
        session = request.getfixturevalue("connected")
        rows.to_parquet(shared / f"{weight}.parquet")
        session.read.parquet(str(shared / f"{weight}.parquet")).createOrReplaceTempView("scores")
        result = session.sql(calib.scan_sql("spark", **asked)).toArrow().to_pandas()
    result.to_csv(tmp_path / "cells.csv", index=False)
    found = calib.scan(tmp_path / "cells.csv")
    expected = calib.scan(rows, max_scores=100, time="day", weight=weight, **NAMED)
    assert found.parts == expected.parts
    pd.testing.assert_frame_equal(
        of_cells(found), of_cells(expected), check_exact=False, rtol=1e-11
    )


SERVERS = [*SESSIONS, "server"]


def held(rows: pd.DataFrame, name: str, request: pytest.FixtureRequest, folder: Path) -> Any:
    """Rows as a frame of Spark, or as a table of PostgreSQL through Ibis."""
    if name == "server":
        ibis = pytest.importorskip("ibis")
        host = request.getfixturevalue(name).info.host
        found = ibis.postgres.connect(host=host, user="calib", database="postgres")
        return found.create_table(f"held_{len(found.list_tables())}", rows)
    path = folder / f"held_{len(list(folder.iterdir()))}.parquet"
    rows.to_parquet(path, index=False)
    return request.getfixturevalue(name).read.parquet(str(path))


@pytest.mark.parametrize("server_name", SERVERS)
def test_models_and_crossed_slices_are_counted_in_servers(
    server_name: str, request: pytest.FixtureRequest, shared: Path
) -> None:
    rows = drawn().iloc[::40].reset_index(drop=True)
    rows = rows.assign(p_old=rows["score"], p_new=rows["score"] ** 1.5)
    frame = held(rows, server_name, request, shared)
    given = test_models.GIVEN | {"max_scores": 100}
    found = calib.scan(frame, models=["p_old", "p_new"], **given)
    for model in found.models:
        assert_same(found.of_model(model), test_models.alone(rows, model, 100))
    cuts = ["site", ("plan", "site")]
    crossed = calib.scan(frame, score="p_old", **(given | {"slices": cuts}))
    expected = calib.scan(rows, score="p_old", **(given | {"slices": cuts}))
    assert crossed.crossings == (("plan", "site"),)
    assert_same(crossed, expected)


@pytest.mark.parametrize("view", ["top:1", "class:2"])
@pytest.mark.parametrize("server_name", SERVERS)
def test_views_and_samples_are_those_of_the_rows_in_servers(
    server_name: str, view: str, request: pytest.FixtureRequest, shared: Path
) -> None:
    rows = test_views.drawn()
    rows["row"] = np.arange(len(rows))
    frame = held(rows, server_name, request, shared)
    found = test_views.scanned(frame, view=view, max_scores=100)
    assert_same(found, test_views.in_memory(rows.drop(columns="row"), view, 100))
    given = {"outcome": "y", "score": test_views.SCORES, "n": 500, "key": "row"}
    own, expected = (calib.scan_sample(each, **given) for each in (frame, rows))
    np.testing.assert_allclose(own.scores, expected.scores, rtol=1e-14)
    # There are more than 1,000 clusters, so they are hashed.
    assert_same(*(test_views.scanned(each, view=view, group="row") for each in (frame, rows)))


@in_connect
def test_a_server_of_spark_connect_that_is_killed_is_told(
    cluster: spark.Cluster, folder: Path, texts
) -> None:
    from pyspark.sql.connect.session import SparkSession

    address, process = cluster.start_connect(), cluster.started[-1]
    frame = SparkSession.builder.remote(address).create().read.parquet(str(folder))
    killed: list[float] = []

    def kill(_: float, text: str) -> None:
        if text.startswith("Counting by plan") and not killed:
            killed.append(time.monotonic())
            process.kill()

    with pytest.raises(InputError, match="lost the connection") as caught:
        calib.scan(frame, progress=kill, **FEW_COLUMNS)
    assert caught.value.problems[0].code == "engine"
    # Spark itself would retry for ten minutes.
    assert time.monotonic() - killed[0] < 180.0


@in_connect
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    cluster: spark.Cluster, connected: Any, folder: Path
) -> None:
    frame, killed = connected.read.parquet(str(folder)), []

    def kill(share: float, text: str) -> None:
        if text.startswith("Counting by plan") and not killed:
            killed.append(share)
            cluster.kill_worker()

    try:
        found = calib.scan(frame, progress=kill, **FEW_COLUMNS)
    finally:
        cluster.add_worker()
    assert killed
    assert_same(found, calib.scan(folder, **FEW_COLUMNS))


@in_connect
def test_a_query_of_spark_is_cancelled(connected: Any, folder: Path) -> None:
    reports: list[tuple[float, str]] = []
    with pytest.raises(InputError, match="was cancelled") as caught:
        calib.scan(
            connected.read.parquet(str(folder)),
            progress=lambda *report: reports.append(report),
            cancel=lambda: bool(reports) and reports[-1][1].startswith("Counting by site"),
            **FEW_COLUMNS,
        )
    assert caught.value.problems[0].code == "cancelled"
    assert reports[-1][0] < 0.5


def small(**columns: Any) -> pd.DataFrame:
    return drawn()[["outcome", "score"]].iloc[::1000].assign(**columns)


def in_two_types(folder: Path) -> None:
    small().to_parquet(folder / "a.parquet")
    small(score="high").to_parquet(folder / "b.parquet")


def unreadable(folder: Path) -> None:
    small().to_parquet(folder / "a.parquet")
    (folder / "a.parquet").chmod(0o000)


FAILURES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "wrong column": (
        lambda folder: small().rename(columns={"score": "p"}).to_parquet(folder / "a.parquet"),
        "no-column",
        "`score` is not in the source",
    ),
    "scores as text": (
        lambda folder: small(score="0.5").to_parquet(folder / "a.parquet"),
        "text",
        "not a number",
    ),
    "two types": (in_two_types, "engine", "the same columns of the same types"),
    "empty": (lambda _: None, "no-rows", "no rows"),
    "permission denied": (unreadable, "engine|permission", "permission denied"),
}


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize("failure", FAILURES)
def test_failures_are_told_in_words(
    failure: str, session: str, request: pytest.FixtureRequest, shared: Path
) -> None:
    make, code, words = FAILURES[failure]
    folder = shared / f"{failure} {session}"
    folder.mkdir()
    make(folder)
    reader = request.getfixturevalue(session).read.schema("outcome string, score double")
    if failure in ("wrong column", "scores as text"):
        reader = request.getfixturevalue(session).read
    with pytest.raises(InputError) as caught:
        calib.scan(reader.parquet(str(folder)), outcome="outcome", score="score")
    assert caught.value.problems[0].code in code.split("|")
    assert any(word in str(caught.value) for word in words.split("|")), str(caught.value)
    assert len(str(caught.value)) < 700
