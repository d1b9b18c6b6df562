"""Grades of a rating: stated probability of default against the observed rate, grade by grade."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pandas import DataFrame, Index
from scipy.special import betainc, betaincinv

from calib.data.checks import check_outcomes, check_same_length, check_scores
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked
from calib.numerics.intervals import upper_end

Light = Literal["green", "yellow", "red"]
NoteKind = Literal["no-rows", "pd-varies", "order", "no-defaults", "no-evidence"]
# The supervisor sets no threshold; these levels of the Jeffreys p-value are the house's policy.
YELLOW_BELOW, RED_BELOW = 0.05, 0.01


def jeffreys_p(defaults: ArrayLike, n: ArrayLike, pd: ArrayLike) -> FloatArray:
    """Posterior probability that the true rate is at most the PD; small means PD too low.

    The prior is Beta(1/2, 1/2), and defaults are independent.

    >>> jeffreys_p([15, 0], [1000, 400], [0.01, 0.005]).round(6)
    array([0.063228, 0.954837])
    """
    d, rows = np.asarray(defaults, dtype=np.float64), np.asarray(n, dtype=np.float64)
    return np.asarray(betainc(d + 0.5, rows - d + 0.5, pd), dtype=np.float64)


def binomial_p(defaults: ArrayLike, n: ArrayLike, pd: ArrayLike) -> FloatArray:
    """Exact probability of at least so many defaults if the PD is true; small means PD too low.

    >>> binomial_p([15, 0], [1000, 400], [0.01, 0.005]).round(6)
    array([0.082412, 1.      ])
    """
    d, rows = np.asarray(defaults, dtype=np.float64), np.asarray(n, dtype=np.float64)
    tail = betainc(np.maximum(d, 1.0), rows - np.maximum(d, 1.0) + 1.0, pd)
    return np.asarray(np.where(d == 0.0, 1.0, tail), dtype=np.float64)


def jeffreys_interval(
    defaults: ArrayLike, n: ArrayLike, confidence_level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Jeffreys interval of a rate; the lower end is 0 without defaults, the upper 1 if all are.

    >>> low, high = jeffreys_interval([15, 0], [1000, 400])
    >>> low.round(6), high.round(6)
    (array([0.008795, 0.      ]), array([0.024   , 0.006256]))
    """
    level = upper_end(confidence_level)
    d, rows = np.asarray(defaults, dtype=np.float64), np.asarray(n, dtype=np.float64)
    a, b = d + 0.5, rows - d + 0.5
    low = np.where(d == 0.0, 0.0, betaincinv(a, b, 1.0 - level))
    return low, np.where(d == rows, 1.0, betaincinv(a, b, level))


@dataclass(frozen=True, slots=True)
class GradeNote:
    """What a reader of the table must know, as a code with its grades and numbers.

    Attributes
    ----------
    kind : str
        "no-rows": the grade is left out. "pd-varies": the least and largest PD of its rows, or all
        such grades without numbers if the rows are not there. "order": the PD of the second grade
        is not above that of the first. "no-defaults": the portfolio has none. "no-evidence": a
        grade without default whose p-value is below 0.05 only because the prior's mean is 1/2.
    grades : tuple of str
    numbers : tuple of float
    """

    kind: NoteKind
    grades: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Grades(Locked):
    """One row per grade, and the portfolio as the last row. Arrays have the shape (k + 1,).

    Attributes
    ----------
    names : tuple of str
        The grades, in the order given, and "Portfolio".
    pd : ndarray
        Mean PD of the rows; that of the portfolio is weighted by rows, never by exposure.
    rows, defaults : ndarray of int
    rate, rate_low, rate_high : ndarray
        Observed rate with its Jeffreys interval.
    jeffreys, binomial : ndarray
        One-sided p-values of the hypothesis that the PD is at least the true rate.
    exposure : ndarray or None
        Sum of the exposure. It is reported, and changes no other number.
    notes : tuple of GradeNote
    """

    names: tuple[str, ...]
    pd: FloatArray
    rows: IntArray
    defaults: IntArray
    rate: FloatArray
    rate_low: FloatArray
    rate_high: FloatArray
    jeffreys: FloatArray
    binomial: FloatArray
    exposure: FloatArray | None
    notes: tuple[GradeNote, ...]

    @property
    def lights(self) -> tuple[Light, ...]:
        """Green from a Jeffreys p-value of 0.05 on, yellow from 0.01 on, red below."""
        return tuple(
            "green" if p >= YELLOW_BELOW else "yellow" if p >= RED_BELOW else "red"
            for p in self.jeffreys.tolist()
        )

    def frame(self) -> DataFrame:
        """One row per grade, and the portfolio."""
        names = ("pd", "rows", "defaults", "rate", "rate_low", "rate_high", "jeffreys", "binomial")
        columns: dict[str, Any] = {name: getattr(self, name) for name in names}
        columns["light"] = self.lights
        if self.exposure is not None:
            columns["exposure"] = self.exposure
        return DataFrame(columns, index=Index(self.names, name="grade"))


def grades(
    grade: ArrayLike,
    probability: ArrayLike,
    outcome: ArrayLike,
    *,
    exposure: ArrayLike | None = None,
    order: tuple[str, ...] | None = None,
    confidence_level: float = 0.95,
) -> Grades:
    """The table of grades that a supervisor asks for, with its tests.

    Parameters
    ----------
    grade : array-like of shape (n,)
        Grade of each obligor, as text.
    probability : array-like of shape (n,)
        Probability of default (PD) of each obligor, in [0, 1].
    outcome : array-like of shape (n,)
        1 if the obligor defaulted, else 0.
    exposure : array-like of shape (n,), optional
        Exposure at the start, in any unit.
    order : tuple of str, optional
        The grades from the best to the worst. Default: by mean PD.
    confidence_level : float
        Of the Jeffreys intervals, in (0, 1).

    Raises
    ------
    ValueError
        If the arrays differ in length or contain a value that is not allowed, or `order` misses a
        grade.

    Examples
    --------
    >>> found = grades(["A"] * 1000, np.full(1000, 0.01), np.arange(1000) < 15)
    >>> found.names, found.jeffreys.round(6).tolist(), found.lights[0]
    (('A', 'Portfolio'), [0.063228, 0.063228], 'green')
    """
    score, defaulted = check_scores(probability, "probability"), check_outcomes(outcome, "outcome")
    labels = np.asarray(grade).astype(str)
    check_same_length(grade=labels, probability=score)
    check_same_length(grade=labels, outcome=defaulted)
    present, code = np.unique(labels, return_inverse=True)
    total = np.bincount(code, score)
    n = np.bincount(code)
    at = _order(tuple(present.tolist()), total / n, order)
    names = tuple(present[at].tolist())
    d = np.bincount(code, defaulted)[at].astype(np.int64)
    mean = np.append((total / n)[at], score.mean())
    rows, count = np.append(n[at], len(score)), np.append(d, d.sum())
    spans = [(float(part.min()), float(part.max())) for part in (score[code == i] for i in at)]
    notes = _notes_on_order(names, mean, order)
    notes += [
        GradeNote("pd-varies", (name,), span)
        for name, span in zip(names, spans, strict=True)
        if span[1] > span[0]
    ]
    amount = None if exposure is None else _summed(exposure, code, at)
    return _tested(names, mean, rows, count, notes, amount, confidence_level)


def grades_of_counts(
    names: tuple[str, ...],
    pd: FloatArray,
    rows: IntArray,
    defaults: IntArray,
    *,
    varies: BoolArray | None = None,
    order: tuple[str, ...] | None = None,
    confidence_level: float = 0.95,
) -> Grades:
    """The same table from the mean PD, rows and defaults of each grade, without the rows.

    `varies` says whether rows of the grade differ in their PD. `order` is that of `grades`.

    >>> found = grades_of_counts(("A",), np.array([0.01]), np.array([1000]), np.array([15]))
    >>> found.names, found.jeffreys.round(6).tolist()
    (('A', 'Portfolio'), [0.063228, 0.063228])
    """
    at = _order(names, pd, order)
    mean = np.append(pd[at], pd @ rows / rows.sum())
    total = (np.append(rows[at], rows.sum()), np.append(defaults[at], defaults.sum()))
    present = tuple(names[i] for i in at)
    notes = _notes_on_order(present, mean, order)
    if varies is not None and varies.any():
        notes.append(GradeNote("pd-varies", tuple(names[i] for i in at if varies[i])))
    return _tested(present, mean, *total, notes, None, confidence_level)


def _notes_on_order(
    names: tuple[str, ...], mean: FloatArray, order: tuple[str, ...] | None
) -> list[GradeNote]:
    """The grades of the order that have no rows, and the neighbours whose PD does not rise."""
    notes = [GradeNote("no-rows", (name,)) for name in order or () if name not in names]
    return notes + [
        GradeNote("order", names[i : i + 2], (float(mean[i]), float(mean[i + 1])))
        for i in range(len(names) - 1)
        if not mean[i] < mean[i + 1]
    ]


def _tested(
    names: tuple[str, ...],
    mean: FloatArray,
    rows: IntArray,
    count: IntArray,
    notes: list[GradeNote],
    exposure: FloatArray | None,
    confidence_level: float,
) -> Grades:
    """The tests of grades and of the portfolio, which is the last."""
    low, high = jeffreys_interval(count, rows, confidence_level)
    p = jeffreys_p(count, rows, mean)
    if not count[-1]:
        notes = [*notes, GradeNote("no-defaults")]
    weak = (i for i in range(len(names)) if count[i] == 0 and p[i] < YELLOW_BELOW)
    notes = [*notes, *(GradeNote("no-evidence", (names[i],), (float(p[i]),)) for i in weak)]
    return Grades(
        names=(*names, "Portfolio"),
        pd=mean,
        rows=rows,
        defaults=count,
        rate=count / rows,
        rate_low=low,
        rate_high=high,
        jeffreys=p,
        binomial=binomial_p(count, rows, mean),
        exposure=exposure,
        notes=tuple(notes),
    )


def _order(present: tuple[str, ...], mean: FloatArray, order: tuple[str, ...] | None) -> IntArray:
    """Positions of the grades that have rows, from the best to the worst."""
    if order is None:
        return np.argsort(mean, kind="stable").astype(np.int64)
    place = {name: i for i, name in enumerate(present)}
    if missing := [name for name in place if name not in order]:
        raise ValueError(f"order must name every grade, got none for {missing[0]!r}. Add it.")
    return np.array([place[name] for name in order if name in place], dtype=np.int64)


def _summed(exposure: ArrayLike, code: IntArray, at: IntArray) -> FloatArray:
    amount = np.asarray(exposure, dtype=np.float64)
    check_same_length(exposure=amount, grade=code)
    if not math.isfinite(float(amount.sum())) or (amount < 0.0).any():
        raise ValueError("exposure must be numbers of at least 0, without missing values.")
    return np.append(np.bincount(code, amount)[at], amount.sum())
