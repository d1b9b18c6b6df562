"""The largest share of rows that can be decided automatically at a certified error rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import pandas as pd

from calib.data.base import Data, check_data
from calib.data.cells import ScoreCells
from calib.data.counted import PositionsInCells
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray, Locked, check_kinds
from calib.numerics.binning import equal_weights
from calib.numerics.monitoring import (
    Certified,
    certified,
    decimal_between,
    error_bound,
    most_errors,
    smallest_passing_count,
)
from calib.text import count, joined, level, percent, plural, significant

Sides = Literal["above", "both"]
# A higher probability would be written as 100%, which no certificate reaches.
MAX_CONFIDENCE = 0.999999
MAX_POINTS = 400  # A curve has about as many points as a chart has pixels.


@dataclass(frozen=True, slots=True)
class FirstTest:
    """The first test of a sequence: rows, errors, and the most errors that would have passed."""

    n_rows: int
    n_errors: int
    most_errors: int


@dataclass(frozen=True, slots=True)
class ErrorLimit:
    """An error rate to certify: the arguments of `certify` of the same names."""

    max_error: float = 0.05
    confidence: float = 0.95
    sides: Sides = "above"


@dataclass(frozen=True, slots=True, eq=False)
class CertifiedSide(Locked):
    """The rows above a threshold, or those below one, that are decided automatically.

    Attributes
    ----------
    side : {"above", "below"}
        Above: rows with at least the threshold are accepted, and negative rows are errors. Below:
        rows with at most the threshold are rejected, and positive rows are errors.
    threshold : float or None
        It lies between two distinct scores. None if no threshold is certified.
    n_rows, n_errors : int
        Decided rows, and the errors among them; 0 without a threshold.
    first_rows : int
        Rows at the strictest threshold that is certified, or else at the first that was tested; 0
        if there are too few for a test.
    first_tests : tuple of FirstTest
        The first test of each sequence, see `calib.numerics.monitoring.certified`.
    curve_threshold : ndarray of shape (g,)
        Lowest score that a threshold accepts (above), or highest score that it rejects (below), the
        strictest first.
    curve_rows, curve_errors : ndarray of shape (g,)
        Rows that each of these thresholds decides, and errors among them.
    curve_bound : ndarray of shape (g,)
        Upper confidence bound of the error rate at each threshold, at the level of its test, see
        `calib.numerics.monitoring.error_bound`.
    """

    side: Literal["above", "below"]
    threshold: float | None
    n_rows: int
    n_errors: int
    first_rows: int
    first_tests: tuple[FirstTest, ...]
    curve_threshold: FloatArray
    curve_rows: IntArray
    curve_errors: IntArray
    curve_bound: FloatArray

    @property
    def bound(self) -> float:
        """Upper confidence bound of the error rate of the decided rows; NaN without a threshold."""
        at = np.flatnonzero(self.curve_rows == self.n_rows)
        return float(self.curve_bound[at[0]]) if len(at) else float("nan")

    @property
    def why_not(self) -> str:
        """Why the first tests failed, without a full stop; "" with a threshold or too few rows."""
        if self.threshold is not None or not self.first_tests:
            return ""
        return ", and ".join(
            f"of the {count(test.n_rows)} rows with the {EXTREMES[self.side]} scores "
            f"{count(test.n_errors)} {'is an error' if test.n_errors == 1 else 'are errors'} "
            f"(at most {count(test.most_errors)} may be)"
            for test in self.first_tests
        )


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Certificate:
    """Thresholds beyond which no row needs a look, with a bound of the error rate.

    Attributes
    ----------
    max_error, confidence : float
        The error rate that is certified, and the probability that the certificate is right. Two
        sides share it: each is tested at half of the level.
    n_rows : int
        Tested rows.
    rows_needed : int
        The smallest number of rows without an error that is enough for a certificate.
    above : CertifiedSide
    below : CertifiedSide or None
        None if only rows above a threshold are decided.
    tested_on : str
        Which rows were tested, as a sentence.
    """

    max_error: float
    confidence: float
    n_rows: int
    rows_needed: int
    above: CertifiedSide
    below: CertifiedSide | None
    tested_on: str

    @property
    def sides(self) -> tuple[CertifiedSide, ...]:
        """The sides that were tested."""
        return (self.above,) if self.below is None else (self.above, self.below)

    @property
    def limit(self) -> ErrorLimit:
        """What was asked for."""
        return ErrorLimit(
            self.max_error, self.confidence, "above" if self.below is None else "both"
        )

    @property
    def level_of_sides(self) -> float:
        """Confidence level of each side; two share what remains to 1."""
        return 1.0 - (1.0 - self.confidence) / len(self.sides)

    @property
    def threshold(self) -> float | None:
        """Rows with at least this score are accepted automatically; None if there is none."""
        return self.above.threshold

    @property
    def lower_threshold(self) -> float | None:
        """Rows with at most this score are rejected automatically; None if there is none."""
        return None if self.below is None else self.below.threshold

    @property
    def share(self) -> float:
        """Share of the tested rows that are decided automatically, on both sides together."""
        return sum(side.n_rows for side in self.sides) / self.n_rows if self.n_rows else 0.0

    @property
    def decides_all_alike(self) -> bool:
        """Whether all rows are accepted, or all rejected, so that their scores do not matter."""
        return any(side.n_rows == self.n_rows > 0 for side in self.sides)

    def share_of(self, side: CertifiedSide) -> float:
        """Share of the tested rows that one side decides."""
        return side.n_rows / self.n_rows if self.n_rows else 0.0

    @property
    def sentence(self) -> str:
        """The result, or why nothing is certified."""
        certified_sides = [side for side in self.sides if side.threshold is not None]
        if not certified_sides:
            return self._why_none()
        bound = f"at most {_rate(self.max_error)} errors"
        confidence = f"with {level(self.confidence)} confidence"
        if self.decides_all_alike:
            act = f" can be {DONE[certified_sides[0].side]}" if self.below is not None else ""
            rows = f"all {plural(self.n_rows, 'row')}{act}"
            return f"Nobody needs to look: {rows}, {bound}, {confidence}."
        if self.below is None:
            where = f"Above {_score(self.above.threshold)} nobody needs to look"
            return f"{where}: {percent(self.share, 0)} of the rows, {bound}, {confidence}."
        acts = [
            f"{ACTS[side.side]} none"
            if side.threshold is None
            else f"{ACTS[side.side]} {ENDS[side.side]} {_score(side.threshold)}"
            for side in self.sides
        ]
        shares = [
            f"{percent(self.share_of(side), 0)} {ENDS[side.side]}" for side in certified_sides
        ]
        rest = "look at the rest" if self.share < 1.0 else "nobody needs to look"
        act = ", ".join([*acts, rest]).capitalize()
        of_each = f" ({joined(shares)})" if len(shares) > 1 else ""
        decided = f"{percent(self.share, 0)} of the rows are decided automatically{of_each}"
        per_side = " on each side" if len(certified_sides) > 1 else ""
        return f"{act}: {decided}, {bound}{per_side}, {confidence}."

    def _why_none(self) -> str:
        if self.n_rows < self.rows_needed:
            are = "is" if self.n_rows == 1 else "are"
            needed = plural(self.rows_needed, "row")
            return f"{needed} without an error are needed; there {are} {count(self.n_rows)}."
        reasons = "; ".join(side.why_not for side in self.sides)
        limit = f"{_rate(self.max_error)} errors with {level(self.confidence)} confidence"
        return f"No threshold is certified for at most {limit}: {reasons}."

    def frame(self) -> pd.DataFrame:
        """The curve of each side: one row per threshold, at most about 400, the strictest first.

        Columns: side, threshold, share, rows, errors, error (their rate), bound (its upper
        confidence bound), certified.
        """
        return pd.concat([_curve(self, side) for side in self.sides], ignore_index=True)


ACTS = {"above": "accept", "below": "reject"}
DONE = {"above": "accepted", "below": "rejected"}
ENDS = {"above": "above", "below": "below"}
EXTREMES = {"above": "highest", "below": "lowest"}


def _rate(rate: float) -> str:
    return f"{significant(100.0 * rate)}%"


def _score(threshold: float | None) -> str:
    return f"{significant(100.0 * (threshold or 0.0), 15)}%"


def _curve(certificate: Certificate, side: CertifiedSide) -> pd.DataFrame:
    rows = side.curve_rows
    limit = side.threshold is not None
    return pd.DataFrame(
        {
            "side": side.side,
            "threshold": side.curve_threshold,
            "share": rows / certificate.n_rows,
            "rows": rows,
            "errors": side.curve_errors,
            "error": side.curve_errors / rows,
            "bound": side.curve_bound,
            "certified": (rows >= side.first_rows) & (rows <= side.n_rows) & limit,
        }
    )


def certify(
    predictions: Data,
    max_error: float = 0.05,
    confidence: float = 0.95,
    *,
    sides: Sides = "above",
    view: str | None = None,
    seed: int = 0,
) -> Certificate:
    """Find the largest share of rows that can be decided automatically at a certified error rate.

    Thresholds are tested from the strictest to looser ones by exact binomial tests, until one
    fails. With probability `confidence`, at most `max_error` of new rows beyond the threshold are
    errors. The first test is at the smallest number of rows that can pass with two errors if it is
    at most a fifth of all rows, otherwise with one, otherwise with none. A second sequence, with a
    twentieth of the level, starts at half of the rows.

    The uncalibrated scores are tested, because no calibrator was fitted to them: those of the test
    rows, if the data name them. A calibrator that keeps the order of the scores decides the same
    rows. The model must not have been trained on these rows.

    Parameters
    ----------
    predictions : Predictions or Aggregate
        If rows have clusters, one row per cluster is drawn at random and tested. Weights must be
        equal.
    max_error : float
        Largest error rate, in (0, 1).
    confidence : float
        Probability that the certificate is right, in (0, 0.999999].
    sides : {"above", "both"}
        Above: rows above a threshold are accepted, and the negative ones are errors. Both: rows
        below a second threshold are also rejected, and the positive ones are errors. Each side is
        then tested at the level (1 - confidence) / 2.
    view : str, optional
        See `Predictions.view`. Default: the score of class 1; for a matrix, the top label.
    seed : int
        Seed of the rows that are drawn from clusters.

    Returns
    -------
    Certificate
        Its `sentence` is the result. Its `threshold` is None if none is certified.

    Raises
    ------
    ValueError
        If a limit is outside (0, 1), the rows have unequal weights, or the view does not exist.

    References
    ----------
    Angelopoulos et al. 2021, "Learn then test", arXiv:2110.01052.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.beta(4, 1, 2000)
    >>> correct = rng.random(2000) < confidence
    >>> certificate = certify(Predictions.from_arrays(correct, confidence), max_error=0.1)
    >>> certificate.threshold, certificate.share
    (0.8298, 0.542)
    """
    check_data(predictions)
    limits = {"max_error": max_error, "confidence": confidence, "seed": seed}
    check_kinds(certify, limits)
    view = view or predictions.default_view
    rows, spread = _entries(predictions, view)
    return certify_rows(rows, max_error, confidence, sides=sides, seed=seed, spread=spread)


def certify_rows(
    rows: BinaryView,
    max_error: float,
    confidence: float,
    *,
    sides: Sides = "above",
    seed: int = 0,
    scores: str = "uncalibrated scores",
    spread: PositionsInCells | None = None,
) -> Certificate:
    """Certify scores to which no calibrator was fitted on these rows; see `certify`.

    Entries with clusters must be in an order that does not depend on the order of the file, see
    `CountedRows`. `scores` are their name in a sentence. `spread` has the ends of the cells if the
    scores are grouped.
    """
    if not 0.0 < max_error < 1.0:
        raise ValueError(f"max_error must fulfil 0 < max_error < 1, got {max_error}.")
    if not 0.0 < confidence <= MAX_CONFIDENCE:
        raise ValueError(
            f"confidence must fulfil 0 < confidence <= {MAX_CONFIDENCE}, got {confidence}."
        )
    if sides not in get_args(Sides):
        raise ValueError(f"sides must be one of {', '.join(get_args(Sides))}, got {sides!r}.")
    rows, spread, tested_on = _drawn(rows, spread, seed, scores)
    cells = rows.cells()
    if not equal_weights(cells):
        raise ValueError(
            "rows must have equal weights, because a certificate counts rows: no exact test of "
            "weighted errors exists. Leave the weights out to certify the rows as they are."
        )
    counts = cells.rows.astype(np.int64)
    positive = np.round(cells.positive * (cells.n_rows / cells.total_weight)).astype(np.int64)
    low, high = _ends(cells, rows, spread)
    # The difference is rounded, and the level must not depend on its last digits.
    alpha = round((1.0 - confidence) / (2.0 if sides == "both" else 1.0), 12)
    wrong = (counts - positive)[::-1]
    tested = [_Tested.of("above", counts[::-1], wrong, max_error, alpha)]
    if sides == "both":
        below = _Tested.of("below", counts, positive, max_error, alpha)
        tested = _without_overlap(tested[0], below)
    results = [side.result(low, high) for side in tested]
    return Certificate(
        max_error=max_error,
        confidence=confidence,
        n_rows=cells.n_rows,
        rows_needed=smallest_passing_count(max_error, alpha),
        above=results[0],
        below=results[1] if len(results) > 1 else None,
        tested_on=tested_on,
    )


def _entries(data: Data, view: str) -> tuple[BinaryView, PositionsInCells | None]:
    """The rows that are tested. Clusters are numbered by what they hold, not by their order."""
    rows = data.view(view) if isinstance(data, Predictions) else None
    if rows is not None and rows.group is None:
        return rows.scored, None
    counted = data.counted(view)
    entries, spread = counted.entries, counted.spread
    if entries.test is not None and spread is not None:
        spread = spread.part(entries.test)
    return entries.scored, spread


def _drawn(
    rows: BinaryView, spread: PositionsInCells | None, seed: int, scores: str
) -> tuple[BinaryView, PositionsInCells | None, str]:
    """The rows that are independent, and a sentence about them."""
    if not len(rows):
        raise ValueError("There must be rows to test, got none. Name at least one test row.")
    n_rows, which = rows.n_rows, "rows" if rows.test is None else "test rows"
    if rows.group is None:
        counted = f"{count(n_rows)} {which}"
        return rows, spread, f"Tested on the {scores} of {counted}."
    # Random numbers in the order of the clusters: the largest of each cluster wins.
    place = np.random.default_rng(seed).random(len(rows))
    order = np.lexsort([place, rows.group])
    last = np.append(rows.group[order][1:] != rows.group[order][:-1], True)
    drawn = np.sort(order[last])
    words = (
        f"Tested on the {scores} of {count(len(drawn))} of {count(n_rows)} {which}, one per "
        "cluster, drawn at random: rows of a cluster are not independent. Each cluster counts the "
        "same."
    )
    picked = replace(rows.rows(drawn), group=None)
    return picked, None if spread is None else spread.part(drawn), words


def _ends(
    cells: ScoreCells, rows: BinaryView, spread: PositionsInCells | None
) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest score of each cell."""
    if spread is None:
        return cells.score, cells.score
    cell = np.searchsorted(cells.score, rows.score)
    low, high = cells.score.copy(), cells.score.copy()
    np.minimum.at(low, cell, spread.low)
    np.maximum.at(high, cell, spread.high)
    return low, high


@dataclass(frozen=True, slots=True, eq=False)
class _Tested:
    """The thresholds of one side, the strictest first, and the range of those that passed."""

    side: Literal["above", "below"]
    rows: IntArray
    errors: IntArray
    tests: Certified
    passed: range
    max_error: float

    @classmethod
    def of(
        cls,
        side: Literal["above", "below"],
        counts: IntArray,
        wrong: IntArray,
        max_error: float,
        alpha: float,
    ) -> _Tested:
        rows, errors = np.cumsum(counts), np.cumsum(wrong)
        tests = certified(errors, rows, max_error, alpha)
        return cls(side, rows, errors, tests, tests.passed, max_error)

    def result(self, low: FloatArray, high: FloatArray) -> CertifiedSide:
        """The loosest threshold that passed, and the curve of all."""
        above, passed = self.side == "above", self.passed
        start, last = passed.start, passed.stop - 1
        level, n_rows = self.tests.level, int(self.rows[-1])
        first_tests = tuple(
            FirstTest(n, int(self.errors[at]), most_errors(n, self.max_error, float(level[at])))
            for at in self.tests.starts
            if at < len(self.rows)
            for n in [int(self.rows[at])]
        )
        # Equal steps of the share; the first and the last threshold that passed are added.
        points = np.searchsorted(self.rows, np.linspace(1, n_rows, MAX_POINTS))
        kept = np.unique(np.append(points, [start, last] if passed else []).astype(np.int64))
        return CertifiedSide(
            side=self.side,
            threshold=_threshold(last, low, high, above=above) if passed else None,
            n_rows=int(self.rows[last]) if passed else 0,
            n_errors=int(self.errors[last]) if passed else 0,
            first_rows=int(self.rows[start]) if start < len(self.rows) else 0,
            first_tests=first_tests,
            curve_threshold=low[::-1][kept] if above else high[kept],
            curve_rows=self.rows[kept],
            curve_errors=self.errors[kept],
            curve_bound=error_bound(self.errors[kept], self.rows[kept], level[kept]),
        )


def _threshold(last: int, low: FloatArray, high: FloatArray, *, above: bool) -> float:
    """A short number between the last decided cell of a side and the cell after it."""
    if last == len(low) - 1:
        return 0.0 if above else 1.0
    place = len(low) - 1 - last
    ends = (high[place - 1], low[place]) if above else (high[last], low[last + 1])
    between = decimal_between(*map(float, ends))
    # Neighbouring floats have no number between them. Both scores are on the side of their cell.
    return float(ends[1] if above else ends[0]) if between is None else between


def _without_overlap(above: _Tested, below: _Tested) -> list[_Tested]:
    """Sides of which no row is on both.

    All thresholds that passed are certified together, so any of them may be chosen. If the two
    loosest overlap, one cut between accepted and rejected rows with the fewest errors is taken.
    """
    n, passed = len(above.rows), (above.passed, below.passed)
    if not all(passed) or passed[0].stop + passed[1].stop <= n:
        return [above, below]
    # A cut at c rejects the first c cells, and accepts the others.
    least = max(n - passed[0].stop, passed[1].start + 1)
    most = min(n - 1 - passed[0].start, passed[1].stop)
    if least > most:
        # Too few rows for two sides: the one that decides more is certified alone.
        more = above.rows[passed[0].stop - 1] >= below.rows[passed[1].stop - 1]
        kept, left = (above, below) if more else (below, above)
        alone = replace(left, passed=range(left.passed.start, left.passed.start))
        return [kept, alone] if more else [alone, kept]
    cuts = np.arange(least, most + 1)
    cut = int(cuts[np.argmin(above.errors[n - 1 - cuts] + below.errors[cuts - 1])])
    return [
        replace(above, passed=range(passed[0].start, n - cut)),
        replace(below, passed=range(passed[1].start, cut)),
    ]
