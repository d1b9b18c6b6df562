"""The state of a monitor, and what to do about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from typing import Literal

import pandas as pd

from calib.features.monitor.episodes import Episode, Restart
from calib.text import (
    count,
    day_words,
    factor,
    percent,
    percents,
    plural,
    quoted,
    significant,
)

State = Literal["calm", "alarm", "too early"]
# A missing share below this is not worth a sentence.
MIN_MISSING_SHARE = 0.005


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Monitored:
    """The state of a monitor on a day, the evidence behind it, and what to do.

    Attributes
    ----------
    state : {"calm", "alarm", "too early"}
        Too early: no alarm, and fewer than ten positives or negatives are expected among the tested
        rows.
    alpha : float
        Probability of a false alarm over the whole life of a calibrator.
    horizon : int
        Age in days at which rows are tested.
    today : date
        The last complete day.
    threshold : float
        The evidence that raises an alarm, log10(1 / alpha).
    faster_threshold : float
        That of the Shiryaev-Roberts line, log10(looks / alpha).
    looks : int
        Number of daily looks that the Shiryaev-Roberts line is made for.
    episodes : tuple of Episode
        All alarms, in order. At most the last is open.
    evidence : DataFrame
        One row per day: day, log10 of the evidence (mixture, shiryaev_roberts, e_process), mature,
        rows, positive, mean_score, missing, late. Evidence of days that are not mature is NaN.
    periods : DataFrame
        One row per period of mature days: period, first_day, last_day, rows, positive, mean_score,
        observed, difference (observed minus mean score), difference_low, difference_high (its 95%
        interval), band_low, band_high (95% band of the difference if calibrated), outside.
    ranges : DataFrame
        The same numbers by tenths of the score (low, high), since the change, or since `anew`.
    slices : DataFrame
        slice, state, log10_evidence, and, since the change or since `anew`, rows, mean_score,
        observed, difference, difference_low, difference_high.
    slice_days : DataFrame
        One row per slice and tested day of the calibrator in use: slice, day, log10_evidence.
    slice_periods : DataFrame
        One row per slice and period: slice, the columns of `periods`, and the state and
        log10_evidence of the slice after the period. The state is "" before the first row that the
        calibrator in use scored.
    slice_ranges : DataFrame
        The columns of `ranges`, and slice.
    anew : date or None
        The first day of the present evidence after a recovery or a new calibrator; None if it began
        with the first day.
    anew_by : {"", "recovery", "new calibrator"}
    n_rows, n_immature, n_missing, n_late : int
        Since `anew`: tested rows, rows with an outcome that are too young, and mature rows whose
        outcome is missing, or arrived after the horizon.
    copies : int
        How often nearly every row occurs on its day with the same score and outcome; 1 if rows
        mostly differ. Copies are not independent, so they raise false alarms.
    n_in_clusters : int
        Rows that are not tested because another row of their cluster is.
    """

    state: State
    alpha: float
    horizon: int
    today: date
    threshold: float
    faster_threshold: float
    looks: int
    episodes: tuple[Episode, ...]
    evidence: pd.DataFrame
    periods: pd.DataFrame
    ranges: pd.DataFrame
    slices: pd.DataFrame
    slice_days: pd.DataFrame
    slice_periods: pd.DataFrame
    slice_ranges: pd.DataFrame
    anew: date | None
    anew_by: Restart
    n_rows: int
    n_immature: int
    n_missing: int
    n_late: int
    copies: int
    n_in_clusters: int = 0

    @property
    def episode(self) -> Episode | None:
        """The open alarm, or None."""
        last = self.episodes[-1] if self.episodes else None
        return last if last is not None and last.closed is None else None

    @property
    def evident(self) -> str:
        """On which predictions the open alarm rests, and when it was known; "" without an alarm."""
        if self.episode is None:
            return ""
        day, raised = day_words(self.episode.day), day_words(self.episode.raised)
        if day == raised:
            return f"Evident in predictions of {day}."
        return f"Evident in predictions of {day}, known on {raised} when their outcomes came."

    @property
    def since(self) -> date | None:
        """The most likely first day of predictions of the open change, or None without an alarm."""
        return self.episode.since if self.episode else None

    @property
    def since_low(self) -> date | None:
        """The first day of the change's likelihood interval, or None without an alarm."""
        return self.episode.since_low if self.episode else None

    @property
    def since_high(self) -> date | None:
        """The last day of the change's likelihood interval, or None without an alarm."""
        return self.episode.since_high if self.episode else None

    @property
    def missing_share(self) -> float:
        """Share of the mature rows whose outcome is missing or late; NaN without rows."""
        total = self.n_rows + self.n_missing + self.n_late
        return (self.n_missing + self.n_late) / total if total else math.nan

    @property
    def wrong_slices(self) -> tuple[str, ...]:
        """Slices with an alarm, the one with the most evidence first."""
        wrong = self.slices[self.slices["state"] == "alarm"]
        ordered = wrong.sort_values(["log10_evidence", "slice"], ascending=[False, True])
        return tuple(ordered["slice"])

    @property
    def advice(self) -> str:
        """What to do: "leave", "recalibrate" or "look at slice X".

        Recalibrating is advised after an alarm. A slice with an alarm is named instead if at most
        half of the slices with rows have one, or if all rows together have none.
        """
        wrong = self.wrong_slices
        alarm = self.state == "alarm"
        if wrong and (not alarm or 2 * len(wrong) <= int((self.slices["rows"] > 0).sum())):
            return f"look at slice {wrong[0]}"
        return "recalibrate" if alarm else "leave"

    @property
    def beginning(self) -> str:
        """When and why the evidence began anew, as the end of a clause; "" if it did not."""
        if self.anew is None:
            return ""
        why = "after a recovery" if self.anew_by == "recovery" else "with a new calibrator"
        return f" since {day_words(self.anew)}, {why}"

    @property
    def _present(self) -> pd.DataFrame:
        """The tested days of the present evidence."""
        tested = self.evidence[self.evidence["mature"]]
        return tested if self.anew is None else tested[tested["day"] >= pd.Timestamp(self.anew)]

    @property
    def faster_reached(self) -> date | None:
        """The first day of the present evidence on which Shiryaev-Roberts reached its threshold."""
        table = self._present
        reached = table["day"][table["shiryaev_roberts"] >= self.faster_threshold]
        return reached.iloc[0].date() if len(reached) else None

    @property
    def ever_wrong(self) -> bool:
        """Whether the plain e-process reached 1 / alpha on a day of the present evidence."""
        return bool((self._present["e_process"] >= self.threshold).any())

    @property
    def other_lines(self) -> str:
        """What the second line and the plain e-process find, in two sentences."""
        reached = self.faster_reached
        when = "not reached" if reached is None else f"reached on {day_words(reached)}"
        no = "" if self.ever_wrong else "no "
        return (
            f"The threshold of the faster line (Shiryaev-Roberts, for {count(self.looks)} daily "
            f"looks) was {when}. The plain e-process gives {no}evidence that the scores were ever "
            f"wrong{self.beginning}."
        )

    @property
    def headline(self) -> str:
        """The state in one sentence, for a heading."""
        return f"{self._stated()}."

    def _stated(self) -> str:
        if self.episode is not None:
            return f"Miscalibrated since about {day_words(self.episode.since)}"
        if self.state == "too early":
            tested, young = plural(self.n_rows, "row"), count(self.n_immature)
            return f"Too early to tell{self.beginning}: {tested} tested, {young} too young"
        days = int((self._present["rows"] > 0).sum())
        return f"No evidence of miscalibration in {plural(days, 'day')}{self.beginning}"

    @property
    def details(self) -> str:
        """What stands below the heading: the mean error or the evidence, and the slices."""
        parts = [self._otherwise()] if self.state == "too early" else []
        if self.episode is not None:
            means = self._means()
            parts = [f"{means[0].upper()}{means[1:]}.", self.evident]
        elif self.state == "calm":
            last = self.evidence["mixture"][self.evidence["mature"]].iloc[-1]
            alarm = significant(1.0 / self.alpha)
            tested = f"{plural(self.n_rows, 'row')} tested."
            parts = [tested, f"The evidence is {factor(last)}; an alarm needs {alarm}."]
        if self.wrong_slices:
            wrong, every = count(len(self.wrong_slices)), plural(len(self.slices), "slice")
            parts.append(f"{wrong} of {every} {'has' if wrong == '1' else 'have'} an alarm.")
        return " ".join(parts)

    @property
    def sentence(self) -> str:
        """The state in one or two sentences."""
        if self.episode is None:
            tested = f" ({plural(self.n_rows, 'row')})" if self.state == "calm" else ""
            return f"{self._stated()}{tested}. {self._otherwise()}".strip()
        low, high = day_words(self.episode.since_low), day_words(self.episode.since_high)
        when = self._stated() if low == high else f"{self._stated()} ({low} to {high})"
        return " ".join([f"{when}: {self._means()}.", *self._of_slices()])

    def _otherwise(self) -> str:
        """What follows the state without an alarm."""
        if self.state == "too early":
            return f"Rows are tested {plural(self.horizon, 'day')} after the prediction."
        return " ".join(self._of_slices())

    def _means(self) -> str:
        rows = self.ranges["rows"]
        predicted = float((self.ranges["mean_score"] * rows).sum() / rows.sum())
        positive = float(self.ranges["positive"].sum() / rows.sum())
        mean, observed = percents(predicted, positive, distinct=False)
        which = "predictions since then"
        # Other pages count the young rows, so the sentence says which rows it is about.
        if self.n_immature:
            which = f"the {count(rows.sum())} predictions since then that are tested"
        return f"{which} average {mean}, and {observed} were positive"

    def _of_slices(self) -> list[str]:
        wrong = self.wrong_slices
        if not wrong:
            return []
        row = self.slices[self.slices["slice"] == wrong[0]].iloc[0]
        mean, observed = percents(row["mean_score"], row["observed"])
        of_all = f"{count(len(wrong))} of {plural(len(self.slices), 'slice')}"
        are = "is" if len(wrong) == 1 else "are"
        return [
            f"{of_all} {are} miscalibrated, first {quoted(wrong[0])}: mean prediction {mean}, "
            f"observed {observed}."
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the result assumes of the rows; one sentence each."""
        notes = [copied(self.copies)] if self.copies > 1 else []
        if self.n_in_clusters:
            others = plural(self.n_in_clusters, "other row")
            notes.append(
                "Rows come in clusters. One row of each cluster is tested, drawn at random: "
                f"{others} of the clusters are not."
            )
        if self.missing_share >= MIN_MISSING_SHARE:
            share = percent(self.missing_share)
            notes.append(f"Missing outcomes {share}: the monitor assumes they are like the others.")
        if self.n_late:
            late = plural(self.n_late, "outcome")
            horizon = plural(self.horizon, "day")
            notes.append(f"{late} arrived after the horizon of {horizon} and are not used.")
        if self.n_immature:
            young = plural(self.n_immature, "row")
            notes.append(
                f"{young} with an outcome are younger than the horizon and not tested yet."
            )
        return tuple(notes)

    def periods_of(self, name: str = "") -> pd.DataFrame:
        """The periods in which a slice has rows; "" is all rows."""
        return _with_rows(self.slice_periods, name) if name else self.periods

    def ranges_of(self, name: str = "") -> pd.DataFrame:
        """The score ranges in which a slice has rows; "" is all rows."""
        return _with_rows(self.slice_ranges, name) if name else self.ranges

    def evidence_of(self, name: str = "") -> pd.DataFrame:
        """Day and log10 of the evidence of a slice on the tested days; "" is all rows."""
        if name:
            table = self.slice_days[self.slice_days["slice"] == name]
            return table[["day", "log10_evidence"]].reset_index(drop=True)
        tested = self.evidence[self.evidence["mature"]]
        return tested[["day", "mixture"]].rename(columns={"mixture": "log10_evidence"})

    def frame(self) -> pd.DataFrame:
        """The evidence: one row per day."""
        return self.evidence.copy()


def copied(copies: int) -> str:
    """The note about rows that are copies of each other."""
    times = "twice" if copies == 2 else f"{copies} times"
    return (
        f"Nearly all rows occur {times} on their day, with the same score and outcome. The alarm "
        "is for independent rows, and copies raise false alarms: keep each row once."
    )


def _with_rows(of_slices: pd.DataFrame, name: str) -> pd.DataFrame:
    chosen = of_slices[(of_slices["slice"] == name) & (of_slices["rows"] > 0)]
    return chosen.drop(columns="slice").reset_index(drop=True)
