"""From evidence to alarms: one per episode, closed by recovery or by a new calibrator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calib.numerics.arrays import FloatArray
from calib.numerics.monitoring import (
    DayLikelihood,
    e_process,
    first_at_least,
    log_recovery,
    most_likely_bet,
    shiryaev_roberts,
    start_weighted,
)

Restart = Literal["", "recovery", "new calibrator"]


@dataclass(frozen=True, slots=True)
class Episode:
    """One alarm. All dates are days of predictions, except `raised`.

    Attributes
    ----------
    day : date
        The day whose rows raised the alarm.
    raised : date
        The day on which these rows were mature, so that the alarm could be seen.
    since, since_low, since_high : date
        The most likely first day of the change, and the first and last day of its 95% likelihood
        interval, by all days of the episode.
    closed : date or None
        The day whose rows closed the alarm, or the first day of the new calibrator; None if it is
        open. A new calibrator that came within the horizon has a first day before `raised`.
    closed_by : {"", "recovery", "new calibrator"}
    """

    day: date
    raised: date
    since: date
    since_low: date
    since_high: date
    closed: date | None = None
    closed_by: Restart = ""


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The evidence after each mature day, in natural logarithms, and the alarms in order.

    `start` is the position of the first day of the calibrator that is in use. `anew` is the first
    day of the present evidence after a recovery or a new calibrator; None if it began with the
    first day.
    """

    mixture: FloatArray
    shiryaev_roberts: FloatArray
    e_process: FloatArray
    episodes: tuple[Episode, ...]
    start: int
    anew: date | None
    anew_by: Restart


def history(
    increments: FloatArray,
    days: NDArray[np.datetime64],
    resets: Sequence[np.datetime64],
    horizon: int,
    alpha: float,
    likelihood: Callable[[int, int], DayLikelihood],
) -> History:
    """Follow the evidence over the mature days.

    Evidence starts anew with a new calibrator, and after a recovery. An alarm stays until then.
    `likelihood` takes the position of a first day, and that of the day after a last one.
    """
    n = len(days)
    waiting = [reset for reset in resets if not n or reset > days[-1]]
    starts = sorted({0, *(int(np.searchsorted(days, reset)) for reset in resets)} - {n}) or [0]
    lines = np.zeros((3, n))
    episodes: list[Episode] = []
    for first, end in zip(starts, [*starts[1:], n], strict=True):
        closes_with = days[end] if end < n else None
        while first < end:
            part = increments[first:end]
            since_first = partial(_from, likelihood, first)
            stop, episode = _first_episode(part, days[first:end], horizon, alpha, since_first)
            if episode is not None:
                if episode.closed is None and closes_with is not None:
                    episode = _closed_by_calibrator(episode, closes_with)
                episodes.append(episode)
            seen = part[:stop]
            lines[:, first : first + stop] = (
                start_weighted(seen),
                shiryaev_roberts(seen),
                e_process(seen),
            )
            first += stop
    # If no row of the newest calibrator is mature, its evidence has not begun.
    last = n if waiting else starts[-1]
    if waiting and episodes and episodes[-1].closed is None:
        episodes[-1] = _closed_by_calibrator(episodes[-1], min(waiting))
    anew, by = _began_anew(episodes, resets)
    return History(lines[0], lines[1], lines[2], tuple(episodes), last, anew, by)


def _began_anew(
    episodes: Sequence[Episode], resets: Sequence[np.datetime64]
) -> tuple[date | None, Restart]:
    """The first day of the present evidence, and why it is not the first day of all."""
    calibrator: date | None = max(resets).astype(date) if len(resets) else None
    closed = episodes[-1].closed if episodes and episodes[-1].closed_by == "recovery" else None
    if closed is not None and (calibrator is None or calibrator <= closed):
        return closed + timedelta(1), "recovery"
    return calibrator, "" if calibrator is None else "new calibrator"


def _from(
    likelihood: Callable[[int, int], DayLikelihood], first: int, n_days: int
) -> DayLikelihood:
    return likelihood(first, first + n_days)


def _first_episode(
    increments: FloatArray,
    days: NDArray[np.datetime64],
    horizon: int,
    alpha: float,
    likelihood: Callable[[int], DayLikelihood],
) -> tuple[int, Episode | None]:
    """The number of days until the first episode is closed, or all days; and the episode."""
    n = len(days)
    alarm = first_at_least(start_weighted(increments), 1.0 / alpha)
    if alarm is None:
        return n, None
    # Evidence for a recovery may only use what the days up to the alarm say.
    bet = most_likely_bet(increments[: alarm + 1])
    day: list[date] = days.astype(object).tolist()
    recovery = first_at_least(log_recovery(increments[alarm + 1 :], bet), 1.0 / alpha)
    closed = None if recovery is None else alarm + 1 + recovery
    change = likelihood(n if closed is None else closed + 1)
    inside = np.flatnonzero(change.inside())
    return n if closed is None else closed + 1, Episode(
        day=day[alarm],
        raised=day[alarm] + timedelta(horizon),
        since=day[change.day],
        since_low=day[inside[0]],
        since_high=day[inside[-1]],
        closed=None if closed is None else day[closed],
        closed_by="" if closed is None else "recovery",
    )


def _closed_by_calibrator(episode: Episode, day: np.datetime64) -> Episode:
    return replace(episode, closed=day.astype(object), closed_by="new calibrator")


def log10(natural: FloatArray) -> FloatArray:
    """Logarithms to base 10, for axes that people read."""
    return natural / math.log(10.0)
