"""The schema of report.json: its number, and the steps from every earlier one to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from calib.reports.codec import ReportError


def _without_parts(data: dict[str, Any]) -> dict[str, Any]:
    """1 to 2: reports could not yet hold slices, periods and decisions."""
    return {**data, "parts": None}


def _without_origin(data: dict[str, Any]) -> dict[str, Any]:
    """2 to 3: reports could not yet say how their file was read; what is not there is unknown."""
    return data


def _with_answers(data: dict[str, Any]) -> dict[str, Any]:
    """3 to 4: verdicts did not yet have an answer beside their kind."""
    answers = {"calibrated": "no evidence", "unknown": "inconclusive"}
    try:
        verdict = data["analysis"]["verdict"]
        answer = answers.get(verdict["kind"], "not calibrated")
    except (KeyError, TypeError):
        return data  # damaged: the reader says where
    return {**data, "analysis": {**data["analysis"], "verdict": {**verdict, "answer": answer}}}


def _without_band(data: dict[str, Any]) -> dict[str, Any]:
    """4 to 5: consistency bands were per bin, noise floors unknown, which are the defaults."""
    return data


def _without_rows(data: dict[str, Any]) -> dict[str, Any]:
    """5 to 6: analyses had empty places for the scores of rows, which no report holds."""
    try:
        analysis = {key: value for key, value in data["analysis"].items() if key != "held_out"}
        matrix = analysis.get("multiclass") or {}
        kept = {key: value for key, value in matrix.items() if key not in ("held_out", "scored")}
    except (KeyError, TypeError, AttributeError):
        return data  # damaged: the reader says where
    return {**data, "analysis": {**analysis, "multiclass": kept or None}}


def _without_evidence(data: dict[str, Any]) -> dict[str, Any]:
    """6 to 7: reports carried no counts to recompute them from, and had no seal."""
    return {**data, "evidence": None, "seal": None}


# A step that was released is never edited: a change is a new step.
STEPS: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    1: _without_parts,
    2: _without_origin,
    3: _with_answers,
    4: _without_band,
    5: _without_rows,
    6: _without_evidence,
}
SCHEMA_VERSION = len(STEPS) + 1


def upgraded(data: Any) -> dict[str, Any]:
    """The same report in today's schema.

    Parameters
    ----------
    data
        What `json.loads` returned.

    Raises
    ------
    ReportError
        If it is not a report, or was written by a newer version.
    """
    if not isinstance(data, dict) or "schema_version" not in data:
        raise ReportError("This is not a report: it has no schema_version.")
    version = data["schema_version"]
    if type(version) is not int or version < 1:
        raise ReportError(f"schema_version must be a whole number above 0, got {version!r:.60}.")
    if version > SCHEMA_VERSION:
        raise ReportError(
            f"This report was written by a newer version of calib (schema {version}, this one "
            f"reads up to {SCHEMA_VERSION}): update calib to open it."
        )
    for number in range(version, SCHEMA_VERSION):
        data = STEPS[number](data) | {"schema_version": number + 1}
    return data
