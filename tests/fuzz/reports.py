"""Reports: mutated report.json, damaged rows of the store, and damaged files of SQLite."""

from __future__ import annotations

import copy
import gzip
import json
import random
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.reports import Report, compare_reports, parts_of
from calib.store import Store, StoreError
from tests.fuzz.cases import Case, unworded
from tests.fuzz.mutations import mutated
from tests.kept import REPORTS

MOMENT = "2026-03-01T09:05:00+00:00"
HOSTILE = [
    *(
        None,
        True,
        False,
        -1,
        0,
        1,
        2,
        10**6,
        10**30,
        0.5,
        -0.5,
        1e-320,
        1e308,
        -1e308,
        "",
        "x",
        "platt",
        "2026-13-45",
        "\ud800",
    ),
    *("a\0b", [], {}, [None], [[]], {"": {}}, "class:9", "top:1", "0" * 99),
]


@cache
def report() -> Report:
    """A small report with slices, periods and decisions."""
    rng = np.random.default_rng(0)
    score = rng.random(200)
    days = np.datetime64("2026-01-01") + rng.integers(0, 90, 200).astype("timedelta64[D]")
    columns = {"site": rng.choice(["a", "b"], 200), "day": days.astype("datetime64[us]")}
    rows = Predictions.from_arrays(
        rng.random(200) < score, score, columns=columns, time_name="day", name="scores.csv"
    )
    analysis = analyze(rows, Settings(methods=("platt", "isotonic"), n_bins=4))
    return Report.from_analysis(
        analysis, parts=parts_of(rows, analysis), title="March", author="Ada", created=MOMENT
    )


@cache
def written() -> tuple[str, ...]:
    """Reports as files: this one, one of a matrix, and the kept one of every schema."""
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), 90)
    rows = Predictions.from_arrays(rng.integers(0, 3, 90), scores, class_names=("a", "b", "c"))
    analysis = analyze(rows, Settings(methods=("temperature",), n_bins=4))
    kept = (path.read_text() for path in REPORTS)
    return (report().json(), Report.from_analysis(analysis, created=MOMENT).json(), *kept)


def report_case(rng: random.Random) -> Case:
    """A report.json with damaged bytes, or with values that do not belong there."""
    text = rng.choice(written())
    data = mutated(rng, text.encode()) if rng.random() < 0.2 else _reshaped(rng, text)
    drawn = rng.random() < 0.1

    def opened(data: bytes) -> Report:
        found = Report.open(data)
        found.markdown()
        found.tables()
        comparison = compare_reports(report(), found)
        comparison.markdown()
        if drawn:
            found.html()
            comparison.html()
        return found

    return Case(data, opened, _unstable)


def _unstable(found: Report) -> str:
    """Whatever is opened is written and opened as the same again."""
    again = Report.open(found.json())
    return "" if again.json() == found.json() else "it is not the same when opened again"


def _reshaped(rng: random.Random, text: str) -> bytes:
    data = json.loads(text)
    for _ in range(rng.choice([1, 1, 2])):
        change(rng, data)
    return json.dumps(data).encode()


def change(rng: random.Random, data: Any) -> None:
    """Walk down to some value, and replace, remove, double or move it."""
    holder, key = data, rng.choice(list(data))
    while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.85:
        holder = holder[key]
        key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    action = rng.randrange(6)
    if action == 0:
        holder.pop(key)
    elif action == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif action == 1:
        holder[rng.choice(["x", "", "uncalibrated"])] = holder.pop(key)
    else:
        # A value of another type is refused at once, so most have the type of the old one.
        same = [value for value in HOSTILE if type(value) is type(holder[key])]
        chosen = rng.choice(same if same and rng.random() < 0.8 else HOSTILE)
        # A later change may change this value too, so it is copied.
        holder[key] = copy.deepcopy(chosen)


@cache
def database() -> bytes:
    """A store of three reports, one of them deleted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "reports.db")
        ids = (letter * 22 for letter in "abc")
        with (
            patch("secrets.token_urlsafe", lambda _: next(ids)),
            patch("calib.store.tables.now", lambda: MOMENT),
            patch("calib.store.entries.now", lambda: MOMENT),
            patch("calib.store.store.now", lambda: MOMENT),
            Store(f"sqlite:///{path}") as store,
        ):
            gone = store.save(report(), tags=["old"])
            for _ in range(2):
                store.save(report(), tags=["credit"])
            store.delete(gone, by="Ada")
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode=DELETE")
        return path.read_bytes()


ENTRY = (
    "saved",
    "created",
    "title",
    "data_name",
    "author",
    "note",
    "verdict",
    "sentence",
    "content",
)


def store_case(rng: random.Random) -> Case:
    """A database with damaged pages, or one whose rows hold what was never written there."""
    if rng.random() < 0.5:
        return Case(mutated(rng, database()), _opened, lambda _: "")
    return Case(_forged_rows(rng), _opened, _lost)


def _forged_rows(rng: random.Random) -> bytes:
    values = (
        None,
        "",
        "yesterday",
        "2026-13-45",
        MOMENT[:10],
        7,
        1e300,
        b"\xff\xfe",
        "x" * 9999,
        "9999-12-31T23:59:59-14:00",
    )
    contents = (
        b"",
        b"{}",
        gzip.compress(b"{}", mtime=0),
        gzip.compress(_reshaped(rng, written()[0]), mtime=0),
        "text",
        None,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "reports.db")
        path.write_bytes(database())
        connection = sqlite3.connect(path)
        connection.execute("DROP TRIGGER calib_reports_stay")
        connection.execute("PRAGMA ignore_check_constraints=ON")
        one = "(SELECT id FROM calib_reports ORDER BY id LIMIT 1)"
        column = rng.choice(ENTRY)
        value = rng.choice(contents if column == "content" else values)
        table, where = rng.choice(
            [("calib_reports", f"id = {one}")] * 4 + [("calib_deletions", "1")]
        )
        if table == "calib_deletions":
            column = rng.choice(["title", "deleted", "deleted_by"])
        with connection:
            connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {where}", (value,))
        connection.close()
        return path.read_bytes()


def _opened(data: bytes) -> tuple[int, int]:
    """Everything that the page of saved reports asks for; how many are listed, how many open."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "reports.db")
        path.write_bytes(data)
        with Store(f"sqlite:///{path}") as store:
            store.tags(), store.authors(), store.verdicts(), store.deletions(), store.count()
            listed = store.list()
            return len(listed), sum(_opens(store, entry.id) for entry in listed)


def _opens(store: Store, report_id: str) -> bool:
    try:
        store.entry(report_id)
        return store.open(report_id).title is not None
    except StoreError as error:
        trouble = unworded(str(error))
        if trouble:
            raise RuntimeError(f"{trouble}: {error}") from error
        return False


def _lost(found: tuple[int, int]) -> str:
    listed, opened = found
    return "" if listed == 2 and opened >= 1 else f"{listed} reports are listed, {opened} open"
