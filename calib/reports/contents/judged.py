"""judge_part: what gold labels say about a judge, for a report, without single rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib.analysis.judge import JudgedRanges, JudgeResult
from calib.numerics.arrays import arrays_of
from calib.reports.contents.disclosure import MIN_ROWS, coarse, coarse_score, merge_small
from calib.reports.contents.structure import JudgePart

N_NEXT = 50


def why_no_report(result: JudgeResult) -> str:
    """Why there can be no report of a judge, in a sentence; "" if there can be one."""
    if result.n_labels < MIN_ROWS:
        return (
            f"A report shows no individual records, and needs at least {MIN_ROWS} labels for "
            f"that, got {result.n_labels}."
        )
    if result.base_rate in (0.0, 1.0):
        kind = "fail" if result.base_rate == 0.0 else "pass"
        return (
            "A report of a judge shows how far its scores are right, and needs labels of both "
            f"kinds for that: all {result.n_labels} labelled rows {kind}."
        )
    return ""


def judge_part(result: JudgeResult) -> JudgePart:
    """The numbers of a judge, and its ranges of score, each with at least ten labels.

    Ends of ranges are scores of single rows, so they have three digits.
    """
    numbers, rows = result.numbers, result.rows
    return JudgePart(
        numbers=replace(
            numbers,
            labelled_range=_coarse_ends(numbers.labelled_range),
            score_range=_coarse_ends(numbers.score_range),
        ),
        ranges=_merged(result.by_score(N_NEXT)),
        read_with=rows.read_with,
        notes=result.notes,
    )


def _coarse_ends(ends: tuple[float, float]) -> tuple[float, float]:
    return coarse_score(ends[0]), coarse_score(ends[1])


def _merged(ranges: JudgedRanges) -> JudgedRanges:
    runs = merge_small(ranges.labels.astype(np.float64))
    sums = {
        name: np.array([values[run].sum() for run in runs], dtype=np.int64)
        for name, values in arrays_of(ranges).items()
        if name not in ("low", "high")
    }
    return JudgedRanges(
        low=coarse(np.array([ranges.low[run][0] for run in runs])),
        high=coarse(np.array([ranges.high[run][-1] for run in runs])),
        **sums,
    )
