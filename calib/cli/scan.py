"""``scan`` and ``sql``: count predictions where they are stored, or print the query for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calib.cli.predictions import doubts_printed, with_options
from calib.cli.streams import save_each, tell
from calib.data.aggregate import Aggregate
from calib.data.origin import Origin, read_as
from calib.loading.name_patterns import PLAIN_PAIRS
from calib.loading.problems import InputError

if TYPE_CHECKING:
    from calib.scanning.query import Dialect


def count(
    sources: Sequence[str],
    arguments: dict[str, Any],
    *,
    table: str | None,
    view: str,
    output: Iterable[Path],
) -> int:
    """Count rows into files of cells."""
    _check_engine()
    from calib.scanning import scan

    try:
        with doubts_printed():
            counted = scan(list(sources), table=table, view=view, **arguments)
    except InputError as error:
        raise with_options(error) from None
    save_each(output, counted.save)
    tell(_read_as(counted, arguments))
    rows = f"{counted.n_rows:,} rows in {len(counted.table):,} entries"
    aside = "".join(f"; set aside: {why}, {n:,}" for why, n in counted.set_aside.items())
    tell(f"{rows}{aside}")
    for model, noticed in counted.noticed.items():
        for sentence in noticed:
            tell(f"{model}: {sentence}" if model else sentence)
    return 0


def _read_as(counted: Aggregate, arguments: dict[str, Any]) -> str:
    """What the columns were read as, and which of outcome, score and positive were guessed."""
    plain = {name.casefold() for name in counted.class_names} in PLAIN_PAIRS
    stated = plain or arguments.get("positive") or counted.view_key != "class:1"
    return read_as(
        Origin(guessed=(*_not_named(arguments), *(() if stated else ("positive",)))),
        outcome=counted.outcome_name,
        score=counted.score_name or " and ".join(arguments.get("models", ())),
        positive=counted.positive_name,
    )


def _not_named(arguments: dict[str, Any]) -> list[str]:
    options = {"outcome": "outcome", "score": "models" if arguments.get("models") else "score"}
    return [role for role, name in options.items() if not arguments.get(name)]


def print_query(dialect: Dialect, table: str, arguments: dict[str, Any]) -> int:
    """Print the query that counts the rows of a table."""
    _check_engine()
    from calib.scanning import scan_sql

    if not arguments.get("outcome"):
        raise ValueError("--outcome must name the column of the outcome.")
    if len(arguments.get("score", ())) != 1:
        count = len(arguments.get("score", ()))
        raise ValueError(f"--score must name the column of the score, one in all, got {count}.")
    (arguments["score"],) = arguments["score"]
    query = scan_sql(dialect, table=table, **arguments)
    print(query, end="")
    return 0


def _check_engine() -> None:
    for name in ("duckdb", "sqlglot"):
        if find_spec(name) is None:
            raise ValueError(f"Scanning needs {name}, which is not installed: pip install {name}.")
