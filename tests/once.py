"""Analyses that several tests need, computed once.

Import the fixture in the conftest.py of tests that make many reports of the same rows. What is made
of counts, as by `calib verify`, is always computed.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from calib.analysis import Analysis, run
from calib.analysis.summary import names_of
from calib.data.base import no_progress
from calib.data.predictions import Predictions
from calib.loading.examples import EXAMPLES

# Each result has a few megabytes.
MAX_KEPT = 8


@cache
def analysed(example: str) -> Analysis:
    """The analysis of a built-in example with the settings that the dashboard opens with."""
    return run.analyze(EXAMPLES[example].load())


@pytest.fixture(scope="module", autouse=True)
def computed_once() -> Iterator[None]:
    """Equal rows that are called and read alike, under equal settings, have one analysis.

    It is frozen. Only for the tests of one file: others test the analysis itself.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_analyze", _kept(run._analyze, _of_rows))
        yield


def _kept(make: Callable[..., Any], key_of: Callable[..., str]) -> Callable[..., Any]:
    kept: dict[str, Any] = {}

    def once(*given: Any) -> Any:
        key = key_of(*given)
        if not key:
            return make(*given)
        kept[key] = kept.pop(key) if key in kept else make(*given)
        if len(kept) > MAX_KEPT:
            del kept[next(iter(kept))]
        return kept[key]

    return once


def _of_rows(data: Any, settings: Any, earlier: Any, progress: Any) -> str:
    if not isinstance(data, Predictions) or earlier is not None or progress is not no_progress:
        return ""
    return repr((data.fingerprint, names_of(data), data.time_name, data.remarks, settings))
