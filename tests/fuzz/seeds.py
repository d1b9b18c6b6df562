"""Seeds: an input is a function of its seed alone."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz.cases import Case
from tests.fuzz.counts import counts_case
from tests.fuzz.exported import export_case
from tests.fuzz.foreign import foreign_case
from tests.fuzz.forged import forged_case
from tests.fuzz.mutations import mutation_case, streams_case
from tests.fuzz.reports import report_case, store_case
from tests.fuzz.text import text_case

# Each with how many of twenty seeds in a row it makes.
SOURCES: dict[str, tuple[int, Callable[[random.Random], Case]]] = {
    "text": (7, text_case),
    "exported": (1, export_case),
    "counts": (1, counts_case),
    "mutations": (6, mutation_case),
    "forged": (2, forged_case),
    "streams": (1, streams_case),
    "reports": (1, report_case),
    "stores": (1, store_case),
}
# Only by name: among the others it would change the inputs of all seeds.
BY_NAME: dict[str, Callable[[random.Random], Case]] = {"foreign": foreign_case}
IN_A_ROW = [source for source, (share, _) in SOURCES.items() for _ in range(share)]


def source_of(seed: int, source: str = "") -> str:
    """Which kind of input a seed makes."""
    return source or IN_A_ROW[seed % len(IN_A_ROW)]


def case_of(seed: int, source: str = "") -> Case:
    """The input of a seed, of one source or of all in turns."""
    made = BY_NAME | {name: case for name, (_, case) in SOURCES.items()}
    return made[source_of(seed, source)](random.Random(seed))
