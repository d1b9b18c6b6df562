"""A case: one input, how it is read, and how to tell whether it was read right."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from calib.data.predictions import Predictions
from calib.exports import ExportError
from calib.loading import InputError, InputWarning
from calib.reports import ReportError
from calib.store import StoreError

REFUSALS = (InputError, ReportError, StoreError, ExportError)
MAX_MESSAGE_LENGTH = 1_500
# These belong into a log: exceptions, reprs of objects and bytes, names of libraries.
NOT_WORDS = re.compile(
    r"Traceback|\w(Error|Exception|Warning)\b|Errno|<class|object at 0x|\bb['\"]|\\x[0-9a-f]{2}"
    r"|pandas\.|pyarrow|sqlalchemy|sqlite3\.|codec can't|\n"
)


@dataclass(frozen=True, slots=True)
class Case:
    """One input.

    Attributes
    ----------
    data : bytes
    read : callable
        Opens the data; returns what `wrong` looks at.
    wrong : callable
        What is wrong with what was read, "" where it is right.
    plain : bool
        Whether it must be read: there is nothing in it that could be refused.
    note : str
        How it was made, for whoever replays it.
    told : callable, optional
        Whether something was said when it was read. Something else than the truth may then be read.
    """

    data: bytes = field(repr=False)
    read: Callable[[bytes], Any]
    wrong: Callable[[Any], str]
    plain: bool = False
    note: str = ""
    told: Callable[[Any], bool] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a case: its kind, the code of a refusal, and words for whoever mends it."""

    kind: str
    code: str = ""
    detail: str = ""


def judged(case: Case) -> Result:
    """Read a case, as a program or page would, and judge what comes of it."""
    with warnings.catch_warnings(record=True) as leaked:
        # In production a library's warning does not stop the program.
        warnings.simplefilter("always")
        result = _read(case)
    # Warnings of calib are sentences for a reader, in contrast to those of a library.
    leaked = [
        each
        for each in leaked
        if not issubclass(each.category, InputWarning) or unworded(str(each.message))
    ]
    if leaked and result.kind in ("right", "refused"):
        return Result("raw", "warning", f"{leaked[0].category.__name__}: {leaked[0].message}")
    return result


def _read(case: Case) -> Result:
    try:
        found = case.read(case.data)
    except REFUSALS as error:
        return _refused(case, error)
    except Exception as error:
        return Result("raw", type(error).__name__, f"{type(error).__name__}: {error}")
    detail = case.wrong(found)
    if detail and case.told is not None and case.told(found):
        return Result("differs", "values", detail)
    return Result("wrong", "values", detail) if detail else Result("right")


def _refused(case: Case, error: Exception) -> Result:
    message = str(error)
    code = "+".join(one.code for one in getattr(error, "problems", ())) or type(error).__name__
    if case.plain:
        return Result("wrong", "plain", f"a plain file is refused: {message}")
    trouble = unworded(message)
    if trouble:
        return Result("raw", "message", f"{trouble}: {message}")
    problems = getattr(error, "problems", ())
    asked = bool(problems) and all(one.choices or one.repair for one in problems)
    return Result("asked" if asked else "refused", code)


def unworded(message: str) -> str:
    """Why a message is no sentence for a reader, "" where it is one."""
    # Contents of a file are in backticks or quotation marks, and may be any text.
    words = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "", message)
    if not message.endswith((".", "?")) or not message[0].isprintable():
        return "no sentence"
    if len(message) > MAX_MESSAGE_LENGTH:
        return "too long"
    found = NOT_WORDS.search(words)
    return f"{found[0]!r} is not for a reader" if found else ""


def plausible(predictions: Predictions) -> str:
    """What no file may hold, whatever was done to it."""
    scores, outcome = predictions.scores, predictions.outcome
    n_classes = len(predictions.class_names)
    if not len(scores) or len(scores) != len(outcome):
        return f"{len(scores)} scores and {len(outcome)} outcomes"
    if not (scores.min() >= 0.0 and scores.max() <= 1.0):
        return f"scores from {scores.min()} to {scores.max()}"
    if outcome.min() < 0 or outcome.max() >= n_classes:
        return f"outcomes from {outcome.min()} to {outcome.max()} of {n_classes} classes"
    return ""
