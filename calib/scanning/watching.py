"""Progress of a scan, and how to interrupt its query when it is cancelled."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, TypeVar

import duckdb
import narwhals as nw

from calib.data.base import Progress
from calib.loading.problems import InputError, refuse

Result = TypeVar("Result")
POLL_SECONDS = 0.1  # A person sees Cancel work at once, and polling costs no time.


class Steps:
    """The current part of the work. The working thread writes it, another thread reads it."""

    def __init__(self) -> None:
        self.low, self.high, self.text, self.ended = 0.0, 0.0, "", False
        self.start, self.width, self.part = 0.0, 1.0, ""

    def begin(self, number: int, total: int, part: str) -> None:
        """Begin one of several equal parts of the work; shares of its steps are of that part."""
        self.start, self.width = number / total, 1.0 / total
        self.part = f"{part}: " if part else ""

    def __call__(self, low: float, high: float, text: str) -> None:
        """Begin a step, from one share of the work to another, unless the scan was cancelled."""
        if self.ended:
            raise cancelled()
        self.low, self.high = (self.start + self.width * share for share in (low, high))
        self.text = f"{self.part}{text}"


def cancelled() -> InputError:
    """The error of a scan that was cancelled."""
    return refuse("cancelled")


class Engine:
    """An engine that runs queries, reports progress and can be interrupted. This base cannot.

    `data_zone` says whether days of times with a zone are those of the zone in the data. Otherwise
    they are those of the connection's zone.
    """

    def __init__(self, *, data_zone: bool = False) -> None:
        self.data_zone = data_zone

    def share(self) -> float:
        """Share of the running query that is done, or 0 if the engine does not report it."""
        return 0.0

    def interrupt(self) -> None:
        """End the running query, if there is one."""

    def run(self, work: Callable[[], Result]) -> Result:
        """Do the work; called in the thread that works."""
        return work()


class DuckEngine(Engine):
    """A connection of DuckDB that is not shared."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__()
        self.connection = connection

    def share(self) -> float:
        """DuckDB's estimate, or -1 if it has none."""
        return max(0.0, float(self.connection.query_progress())) / 100.0

    def interrupt(self) -> None:
        """End the running query."""
        self.connection.interrupt()


class SparkEngine(Engine):
    """A Spark session. Its jobs get a tag, so that only they are interrupted."""

    def __init__(self, session: Any, *, reports: bool) -> None:
        super().__init__()
        self.session, self.reports = session, reports
        self.tag = f"calib-{uuid.uuid4().hex}"
        self.done = 0.0

    def share(self) -> float:
        """Share of finished tasks from Spark Connect. It is 0 for classic PySpark."""
        return self.done

    def interrupt(self) -> None:
        """End the jobs with this scan's tag."""
        self.session.interruptTag(self.tag)

    def run(self, work: Callable[[], Result]) -> Result:
        """Do the work under the tag, and listen to the progress if Spark reports it."""
        self.session.addTag(self.tag)
        try:
            return self._with_listener(work) if self.reports else work()
        finally:
            self.session.removeTag(self.tag)

    def _with_listener(self, work: Callable[[], Result]) -> Result:
        """Listen to the progress. Give up after 25 seconds without an answer, not after 600."""
        from pyspark.sql.connect.client.retries import DefaultPolicy

        client, session = self.session.client, self.session
        before = client.get_retry_policies()
        client.set_retry_policies([DefaultPolicy(max_retries=8, max_backoff=5_000)])
        session.registerProgressHandler(self._set_share)
        try:
            return work()
        finally:
            session.removeProgressHandler(self._set_share)
            client.set_retry_policies(before)

    def _set_share(self, stages: Any, done: bool = False, **_: Any) -> None:
        total = sum(stage.num_tasks for stage in stages or ())
        finished = sum(stage.num_completed_tasks for stage in stages or ())
        self.done = 0.0 if done or not total else finished / total


def engine_of(rows: nw.LazyFrame[Any]) -> Engine:
    """The engine of a frame that was passed to `scan`."""
    connect = rows.implementation.is_pyspark_connect()
    if connect or rows.implementation.is_pyspark():
        return SparkEngine(rows.to_native().sparkSession, reports=connect)
    return Engine(data_zone=not (rows.implementation.is_duckdb() or rows.implementation.is_ibis()))


def watched(
    work: Callable[[], Result],
    engine: Engine,
    steps: Steps,
    progress: Progress | None,
    cancel: Callable[[], bool] | None,
) -> Result:
    """Run the work in a thread and report its progress. Without a callback, just run the work.

    Both callbacks are called in this thread. `cancel` ends the work if it returns True.
    """
    if progress is None and cancel is None:
        return engine.run(work)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(engine.run, work)
        try:
            while not wait([future], POLL_SECONDS).done:
                if progress is not None:
                    share = steps.low + (steps.high - steps.low) * engine.share()
                    progress(min(share, steps.high), steps.text)
                if cancel is not None and cancel():
                    raise cancelled()
        except BaseException:
            steps.ended = True
            # Interrupt repeatedly, because between two queries there is nothing to interrupt.
            while not wait([future], POLL_SECONDS).done:
                with suppress(Exception):
                    engine.interrupt()
            raise
        return future.result()
