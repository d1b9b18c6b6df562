"""judge and compare_judges: from scores and gold labels to a debiased pass rate, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from calib.analysis.judge import JudgeComparison, JudgeResult, judge_rows
from calib.data.file_options import Columns, FileFormat
from calib.loading.judged_rows import Judged, JudgedParts, read_judged
from calib.loading.loader import columns_of, with_arguments
from calib.loading.problems import InputError


def judge(
    judged: Judged,
    gold: Judged | None = None,
    *,
    score: str | None = None,
    outcome: str | None = None,
    row_id: str | None = None,
    group: str | None = None,
    positive: str | None = None,
    scale: tuple[float, float] = (0.0, 1.0),
    threshold: float = 0.5,
    confidence_level: float = 0.95,
    seed: int = 0,
    **options: Any,
) -> JudgeResult:
    """Estimate the pass rate of rows that a judge scored, from gold labels of some of them.

    The labelled rows must be a random sample of the judged rows, or one that is spread over the
    scores as `JudgeResult.next_rows` draws it. The judge may be biased: a line that is fitted to
    the labelled rows corrects it.

    Parameters
    ----------
    judged : path, str, bytes, DataFrame, Predictions or array-like of shape (n,)
        The judge's scores for all rows, labelled or not. Columns that are not named are guessed as
        in `load`; `JudgeResult.notes` says which.
    gold : the same, optional
        Gold labels: 1 and 0, or words such as pass and fail. A table is matched by an id column
        that both have, and otherwise by position. An array has one label per judged row, missing
        (None or NaN) for rows without one. Default: a column of `judged`, with blank cells.
    score, outcome, row_id, group : str, optional
        Columns: the judge's score or answer, the gold label, what identifies a row in both tables,
        and the cluster of rows that are not independent, such as the samples of one question.
    positive : str, optional
        The label that passes, if it is not a word such as pass, yes, correct or 1.
    scale : tuple of two floats
        Lowest and highest possible score, such as (1, 5).
    threshold : float
        The judge's answer is pass if its score, converted to [0, 1], is at least this.
    confidence_level : float
        Of all intervals, between 0 and 1.
    seed : int
        Seed of `JudgeResult.next_rows`.
    **options
        Others of `load`. They say how files are read (delimiter, header, encoding, sheet, and for
        evaluation logs scorer, filter, correct_from and percent_above_1), or how columns are
        (negative, others_negative, decimal).

    Returns
    -------
    JudgeResult

    Raises
    ------
    InputError
        If a table cannot be read, or labels do not match the rows. It is a ValueError.
    ValueError
        If fewer than 3 rows (or clusters) have a label, or an argument is out of range.

    See Also
    --------
    compare_judges : Several judges or models side by side.

    References
    ----------
    Angelopoulos, Duchi and Zrnic 2023, "PPI++: Efficient prediction-powered inference",
    arXiv:2311.01453.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.random(2000) < 0.8
    >>> scores = np.where(truth, rng.beta(6, 2, 2000), rng.beta(4, 3, 2000))
    >>> gold = [int(one) if row < 200 else None for row, one in enumerate(truth)]
    >>> result = judge(scores, gold)
    >>> print(result.sentence)
    The pass rate is 81.1% (95% CI 75.4% to 85.7%); the judge's mean is 71.6%.
    """
    if score is not None and not isinstance(score, str):
        raise TypeError(f"score must be one column, got {score!r}. See `compare_judges`.")
    columns: dict[str, Any] = {"score": score, "outcome": outcome, "row_id": row_id, "group": group}
    columns |= {"positive": positive, "scale": scale}
    (rows,) = _read(judged, gold, columns | options).rows.values()
    return judge_rows(rows, threshold=threshold, confidence_level=confidence_level, seed=seed)


def compare_judges(
    judged: Judged,
    gold: Judged | None = None,
    *,
    threshold: float = 0.5,
    confidence_level: float = 0.95,
    seed: int = 0,
    **columns: Any,
) -> JudgeComparison:
    """Compare several judges of the same rows, or the rows of several models.

    Parameters
    ----------
    judged, gold, threshold, confidence_level, seed
        As in `judge`.
    **columns
        As in `judge`. `score` may be several columns, one per judge. `model` is a column that names
        the model that answered each row; gold labels with the same column are matched by both.
        Those that say how files are read are the same, too.

    Returns
    -------
    JudgeComparison
        Results by name. What cannot be analysed is in `failures`.

    Raises
    ------
    InputError
        If a table cannot be read, or labels do not match the rows. It is a ValueError.
    ValueError
        If nothing can be analysed.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"gold": (rng.random(300) < 0.7).astype(float)})
    >>> frame["small"] = np.clip(0.3 + 0.3 * frame["gold"] + rng.normal(0, 0.2, 300), 0, 1)
    >>> frame["large"] = np.clip(0.2 + 0.6 * frame["gold"] + rng.normal(0, 0.1, 300), 0, 1)
    >>> frame.loc[100:, "gold"] = np.nan
    >>> compared = compare_judges(frame, score=["small", "large"])
    >>> compared.frame()["kappa"].round(2).to_dict()
    {'small': 0.64, 'large': 1.0}
    """
    parts = _read(judged, gold, columns)
    results, failures = {}, dict(parts.failures)
    for name, rows in parts.rows.items():
        try:
            results[name] = judge_rows(
                rows, threshold=threshold, confidence_level=confidence_level, seed=seed
            )
        except ValueError as error:
            failures[name] = str(error)
    if not results:
        raise ValueError(f"Nothing can be analysed: {next(iter(failures.values()))}")
    return JudgeComparison(results, failures)


def _read(judged: Judged, gold: Judged | None, options: Mapping[str, Any]) -> JudgedParts:
    """The rows of each judge and model; an InputError names the argument that repairs it."""
    names = {one.name for one in fields(FileFormat)}
    given = FileFormat(**{name: value for name, value in options.items() if name in names})
    columns = {name: value for name, value in options.items() if name not in names}
    try:
        return read_judged(judged, gold, columns_of(**columns), given)
    except InputError as error:
        raise with_arguments(error.problems, Columns()) from None
