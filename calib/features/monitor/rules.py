"""The rules of a monitor: which rows are tested, when it alarms, and what it then says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from calib.features.monitor.episodes import history
from calib.features.monitor.result import Monitored
from calib.features.monitor.rows import Counts
from calib.features.monitor.tables import (
    evidence_table,
    period_table,
    range_table,
    slice_day_table,
    slice_evidence,
    slice_period_table,
    slice_range_table,
    slice_table,
    too_early,
)
from calib.numerics.monitoring import DayLikelihood, day_likelihood, log_increments

THREE_YEARS = 1095


def monitored(
    days: pd.DataFrame,
    *,
    horizon: int,
    today: Any,
    alpha: float = 0.05,
    reset: Sequence[Any] = (),
    looks: int = THREE_YEARS,
) -> Monitored:
    """Test whether scores are still calibrated, as often as you like.

    A row is tested when it is `horizon` days old, whenever its outcome arrived. Otherwise outcomes
    that are known early, such as churn, would look too frequent. The alarm is raised when the
    start-weighted mixture of 16 bets reaches 1 / alpha: it does so with probability at most alpha
    over the whole life of a calibrator, if its scores are right and rows are independent given the
    past. One alarm is one episode. A recovery closes it (evidence of 1 / alpha for the scores
    against the bet that described the change), and so does a new calibrator. The evidence then
    starts anew, and so does alpha.

    Slices are tested by e-BH on the same mixture: at most a share alpha of the slices with an alarm
    is calibrated, on average, on any day of looking. Slices have no episodes: the alarm of a slice
    ends when its evidence is below the limit again, or with a new calibrator.

    Parameters
    ----------
    days : DataFrame
        Counts of rows: day (of the prediction), slice, score, positive, negative (rows whose
        outcome arrived within the horizon), missing (rows without an outcome), late (rows whose
        outcome arrived after the horizon; they are not among the missing). The slice "" is all
        rows; if it is absent, the slices together are all rows. Several entries of a day, slice and
        score are added up. Scores of exactly 0 and 1 are clipped as the log loss clips them.
    horizon : int
        Days after which the outcome of a row is regarded as final, at least 0.
    today : date
        The last complete day. Days up to `horizon` days before it are mature.
    alpha : float
        Probability of a false alarm, in (0, 1).
    reset : sequence of date
        First days of new calibrators.
    looks : int
        Number of daily looks that the Shiryaev-Roberts line is made for.

    Raises
    ------
    ValueError
        If a column is missing, a count is not a whole number, or an argument is out of its range.

    References
    ----------
    Shin et al. 2022, arXiv:2203.03532; Henzi et al. 2021, arXiv:2109.11761; Wang and Ramdas 2022,
    arXiv:2009.02824; Siegmund 1988, doi:10.2307/1403360 (interval of the day of a change).

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> day = pd.date_range("2026-01-01", periods=100)
    >>> days = pd.DataFrame({"day": day, "slice": "", "score": 0.3, "missing": 0, "late": 0})
    >>> days["positive"] = np.where(day < "2026-03-01", 60, 90)
    >>> days["negative"] = 200 - days["positive"]
    >>> result = monitored(days, horizon=30, today="2026-04-10")
    >>> result.state, result.since, result.advice
    ('alarm', datetime.date(2026, 3, 1), 'recalibrate')
    """
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must fulfil 0 < alpha < 1, got {alpha}.")
    if looks < 1:
        raise ValueError(f"looks must be at least 1, got {looks}.")
    last_day = np.datetime64(pd.Timestamp(today), "D")
    new_calibrators = [np.datetime64(pd.Timestamp(day), "D") for day in reset]
    counts = Counts.of(days, horizon, last_day)
    every, n = counts.all_rows(), counts.n_mature
    mature = every.from_to(0, n)
    increments = log_increments(mature.day, mature.score, mature.positive, mature.negative, n)

    def likelihood(first: int, last: int) -> DayLikelihood:
        part = mature.from_to(first, last)
        cells = part.day - first, part.score, part.positive, part.negative
        return day_likelihood(*cells, last - first)

    past = history(increments, counts.days[:n], new_calibrators, horizon, alpha, likelihood)
    open_episode = past.episodes[-1] if past.episodes and past.episodes[-1].closed is None else None
    anew = counts.position(past.anew)
    since = anew if open_episode is None else counts.position(open_episode.since)
    tested, young = every.from_to(anew, n), every.from_to(max(anew, n), len(counts.days))
    early = too_early(tested)
    of_slices = slice_evidence(counts, past.start)
    return Monitored(
        state="alarm" if open_episode else "too early" if early else "calm",
        alpha=alpha,
        horizon=horizon,
        today=last_day.astype(date),
        threshold=-math.log10(alpha),
        faster_threshold=math.log10(looks / alpha),
        looks=looks,
        episodes=past.episodes,
        evidence=evidence_table(every, past),
        periods=period_table(every),
        ranges=range_table(every, since),
        slices=slice_table(counts, of_slices, past.start, since, alpha),
        slice_days=slice_day_table(counts, of_slices, past.start),
        slice_periods=slice_period_table(counts, of_slices, past.start, alpha),
        slice_ranges=slice_range_table(counts, since),
        anew=past.anew,
        anew_by=past.anew_by,
        n_rows=int(tested.rows.sum()),
        n_immature=int(young.rows.sum()),
        n_missing=int(tested.missing.sum()),
        n_late=int(tested.late.sum()),
        copies=every.copies,
    )
