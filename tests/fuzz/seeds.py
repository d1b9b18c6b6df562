"""Seeds: an input is a function of its seed alone."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz.cases import Case
from tests.fuzz.counts import counts_case
from tests.fuzz.forged import forged_case
from tests.fuzz.mutations import mutation_case, streams_case
from tests.fuzz.reports import report_case, store_case
from tests.fuzz.text import text_case

SOURCES: dict[str, Callable[[random.Random], Case]] = {
    "text": text_case,
    "counts": counts_case,
    "mutations": mutation_case,
    "forged": forged_case,
    "streams": streams_case,
    "reports": report_case,
    "stores": store_case,
}
# How many of twenty seeds in a row.
SHARES = {
    "text": 8,
    "counts": 1,
    "mutations": 6,
    "forged": 2,
    "streams": 1,
    "reports": 1,
    "stores": 1,
}
IN_A_ROW = [source for source, share in SHARES.items() for _ in range(share)]


def source_of(seed: int) -> str:
    """Which kind of input a seed makes."""
    return IN_A_ROW[seed % len(IN_A_ROW)]


def case_of(seed: int) -> Case:
    """The input of a seed."""
    return SOURCES[source_of(seed)](random.Random(seed))
