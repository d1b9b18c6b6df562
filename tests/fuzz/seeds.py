"""Seeds: an input is a function of its seed alone."""

from __future__ import annotations

import random
from collections.abc import Callable

from hypothesis import find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from tests.fuzz.cases import Case, Result, judged
from tests.fuzz.counts import counts_case
from tests.fuzz.damaged import damaged_case
from tests.fuzz.exported import export_case
from tests.fuzz.foreign import foreign_case
from tests.fuzz.forged import forged_case
from tests.fuzz.model_files import model_file_case
from tests.fuzz.mutations import mutation_case, streams_case
from tests.fuzz.reports import report_case, store_case
from tests.fuzz.text import text_case

# The number says how many of twenty successive seeds a source gets.
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
# A source in turns with the others would change the inputs of all seeds.
BY_NAME: dict[str, Callable[[random.Random], Case]] = {
    "damaged": damaged_case,
    "foreign": foreign_case,
    "models": model_file_case,
}
IN_A_ROW = [source for source, (share, _) in SOURCES.items() for _ in range(share)]


def source_of(seed: int, source: str = "") -> str:
    """Which kind of input a seed makes."""
    return source or IN_A_ROW[seed % len(IN_A_ROW)]


def case_of(seed: int, source: str = "") -> Case:
    """The input of a seed, of one source or of all in turns."""
    return _maker(source_of(seed, source))(random.Random(seed))


def smallest(source: str, result: Result, max_inputs: int = 5_000) -> Case | None:
    """The smallest input with the same result that Hypothesis finds, None if it finds none.

    Hypothesis makes the choices of the source's random numbers, and shrinks them.
    """

    def fails_alike(case: Case) -> bool:
        other = judged(case)
        return (other.kind, other.code) == (result.kind, result.code)

    inputs = st.randoms(use_true_random=False).map(_maker(source))
    options = settings(max_examples=max_inputs, database=None, deadline=None, derandomize=True)
    try:
        return find(inputs, fails_alike, settings=options)
    except NoSuchExample:
        return None


def _maker(source: str) -> Callable[[random.Random], Case]:
    return BY_NAME[source] if source in BY_NAME else SOURCES[source][1]
