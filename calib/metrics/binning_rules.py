"""How published codes cut scores into bins, and the calibration errors that each of them gives.

A rule is one way to place the edges of the bins and to treat scores on an edge. Codes are what
libraries and papers run: a rule, a number of bins and a norm. They are named with the version whose
source was read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.binning import quantiles
from calib.numerics.poisson_binomial import NORMS, Binnings, Prefixes, binned_errors

# Positions in the sorted scores between which the bins lie, or None if a code fails.
Starts = IntArray | None
ROWS_PER_BIN = 100  # The bins of Hendrycks et al. have this many rows.
# verified_calibration takes scores as discrete if there are fewer than this many per row.
MAX_DISTINCT_PER_ROW = 0.25


@dataclass(frozen=True, eq=False)
class SortedScores:
    """One binary problem, as the rules read it.

    `cells` are sorted scores. `rows` are the rows in their original order, if they are known: some
    codes split rows with equal scores by their order.
    """

    cells: ScoreCells
    rows: BinaryView | None = None

    @classmethod
    def of(cls, view: BinaryView, *, ordered: bool) -> SortedScores:
        """The rows or entries of a view, without weights; `ordered` if they are rows in order."""
        plain = BinaryView(view.outcome, view.score, count=view.count)
        return cls(plain.cells(), plain if ordered else None)

    @cached_property
    def n_rows(self) -> int:
        return self.cells.n_rows

    @cached_property
    def single(self) -> NDArray[np.float32]:
        """The scores in single precision."""
        return self.cells.score.astype(np.float32)

    @cached_property
    def by_score(self) -> Prefixes:
        cells = self.cells
        return Prefixes(
            cells.cumulative_rows,
            cells.cumulative_weight,
            cells.cumulative_positive,
            cells.cumulative_score,
        )

    @property
    def is_tied(self) -> bool:
        """Whether several rows have the same score."""
        return len(self.cells) < self.n_rows

    def by_row(self, sort: str) -> Prefixes | None:
        """Prefix sums over single rows, sorted by score; None if their order is not known.

        `sort` is the sort of NumPy that decides the order of rows with equal scores.
        """
        if not self.is_tied:
            return self.by_score
        if self.rows is None:
            return None
        return self._stable if sort == "stable" else self._quick

    @cached_property
    def _stable(self) -> Prefixes:
        return self._sorted("stable")

    @cached_property
    def _quick(self) -> Prefixes:
        # NumPy's default depends on the instructions of the machine.
        return self._sorted(None)

    def _sorted(self, kind: Literal["stable"] | None) -> Prefixes:
        assert self.rows is not None
        order = np.argsort(self.rows.score, kind=kind)
        count = np.arange(len(order) + 1.0)
        outcome = self.rows.outcome[order].astype(np.float64)
        return Prefixes(count, count, _prefix(outcome), _prefix(self.rows.score[order]))

    def linear_quantiles(self, level: FloatArray) -> FloatArray:
        """Quantiles of NumPy's default: linear between the scores of neighbouring rows."""
        place = (self.n_rows - 1) * level
        low = np.floor(place).astype(np.int64)
        a, b = self.order_statistics(low), self.order_statistics(low + 1)
        share = place - low
        # NumPy computes from the nearer end.
        return np.where(share >= 0.5, b - (b - a) * (1.0 - share), a + (b - a) * share)

    def order_statistics(self, rank: IntArray) -> FloatArray:
        """The scores of the rows with these ranks, from 0, in increasing order of score."""
        at = np.searchsorted(self.cells.cumulative_rows, rank, side="right") - 1
        return self.cells.score[np.clip(at, 0, len(self.cells) - 1)]


def _prefix(values: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(values)])


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One way to cut sorted scores into a number of bins.

    Attributes
    ----------
    key : str
    kind : {"uniform", "range", "quantile", "rows", "scores"}
        Bins of equal width over [0, 1] or over the range of the scores, of equal counts, of a fixed
        number of rows, or one per distinct score. The last two find their own number of bins.
    edges : str
        What happens to scores on an edge, in words.
    cut : callable
        ``cut(scores, numbers)``: the positions between which the bins lie, for each number of bins.
    sort : {"", "stable", "quick"}
        The sort of NumPy that decides the order of rows with equal scores. "" if equal scores are
        never split.
    """

    key: str
    kind: str
    edges: str
    cut: Callable[[SortedScores, Sequence[int]], Sequence[Starts]]
    sort: str = ""

    @property
    def sets_bins(self) -> bool:
        """Whether the number of bins is given."""
        return self.kind not in ("rows", "scores")

    def errors(self, scores: SortedScores, numbers: Sequence[int]) -> FloatArray:
        """Errors for each number of bins in each norm: shape (numbers, 5), NaN without a value."""
        errors = np.full((len(numbers), len(NORMS)), np.nan)
        sums = scores.by_row(self.sort) if self.sort else scores.by_score
        if sums is None:
            return errors
        starts = self.cut(scores, numbers)
        works = [number for number, positions in enumerate(starts) if positions is not None]
        cuts = [positions for positions in starts if positions is not None]
        if cuts:
            errors[works] = binned_errors(sums, Binnings.between(cuts))
        return errors


def _at(scores: NDArray[Any], edges: Sequence[FloatArray], side: str) -> list[IntArray]:
    """Positions of edges in sorted scores, from one search for all of them."""
    place = np.searchsorted(
        scores, np.concatenate(edges), side="right" if side == "right" else "left"
    )
    ends = np.cumsum([len(one) for one in edges])[:-1]
    return list(np.split(place.astype(np.int64), ends))


def _closed(positions: IntArray, k: int) -> IntArray:
    """The first bin has all scores below it, and the last one all scores above it."""
    positions[0], positions[-1] = 0, k
    return positions


def linspace(n: int) -> FloatArray:
    """Edges as NumPy computes them: 0.6 of ten bins is 0.6000000000000001."""
    return np.linspace(0.0, 1.0, n + 1)


def fractions(n: int) -> FloatArray:
    """Edges as i / n, each rounded once."""
    return np.arange(n + 1) / n


def floored(n: int) -> FloatArray:
    """The smallest numbers for which floor(s * n) is 0, 1, ..., n, with its rounding."""
    place = np.arange(n + 1)
    edges = place / n
    for _ in range(2):
        below = np.nextafter(edges, 0.0)
        edges = np.where(np.floor(below * n) >= place, below, edges)
    return np.where(np.floor(edges * n) < place, np.nextafter(edges, 2.0), edges)


def torch_linspace(n: int) -> FloatArray:
    """torch.linspace in double precision: computed from both ends, with a fused multiply-add."""
    place, step = np.arange(n + 1), np.longdouble(1.0 / n)
    # Extended precision holds the product exactly, as the fused operation does.
    return np.where(place < (n + 1) // 2, step * place, 1.0 - step * (n - place)).astype(np.float64)


def torch_linspace_single(n: int) -> FloatArray:
    """torch.linspace in single precision, in which most models compute."""
    place, step = np.arange(n + 1), float(np.float32(1.0) / np.float32(n))
    edges = np.where(place < (n + 1) // 2, step * place, 1.0 - step * (n - place))
    return edges.astype(np.float32)


def _uniform(
    edges: Callable[[int], FloatArray],
    closed: str,
    *,
    ends: str = "closed",
    single: bool = False,
) -> Callable[[SortedScores, Sequence[int]], Sequence[Starts]]:
    """A rule with edges over [0, 1].

    `closed` is the side of a bin to which its edge belongs. `ends` says what happens at the ends:
    "closed": every score is in a bin. "open": a score on the open end is in no bin. "own": a score
    of 1 has a bin of its own.
    """

    def cut(scores: SortedScores, numbers: Sequence[int]) -> Sequence[Starts]:
        k, values = len(scores.cells), scores.single if single else scores.cells.score
        # A score on the right edge of a bin is below the next one.
        cuts = _at(values, [edges(n) for n in numbers], closed)
        if ends == "closed":
            return [_closed(positions, k) for positions in cuts]
        return [np.append(positions, k) for positions in cuts] if ends == "own" else cuts

    return cut


def _range(closed: str) -> Callable[[SortedScores, Sequence[int]], Sequence[Starts]]:
    def cut(scores: SortedScores, numbers: Sequence[int]) -> Sequence[Starts]:
        score = scores.cells.score
        if score[0] == score[-1]:
            return [None] * len(numbers)
        edges = [np.linspace(score[0], score[-1], n + 1) for n in numbers]
        return [_closed(positions, len(score)) for positions in _at(score, edges, closed)]

    return cut


def _weighted_quantiles(scores: SortedScores, numbers: Sequence[int]) -> Sequence[Starts]:
    """The quantile bins of `calib.numerics.binning.bin_edges`."""
    levels = [np.linspace(0.0, 1.0, n + 1)[1:-1] for n in numbers]
    edges = quantiles(scores.cells, np.concatenate(levels))
    # An edge at 0 is none: scores of 0 are in the first bin.
    edges[edges <= 0.0] = -1.0
    parts = np.split(edges, np.cumsum([len(level) for level in levels])[:-1])
    k = len(scores.cells)
    return [np.concatenate([[0], at, [k]]) for at in _at(scores.cells.score, parts, "right")]


def _linear_quantiles(percent: bool, closed: str) -> Callable[..., Sequence[Starts]]:
    """The quantiles of NumPy's default: linear between the scores of neighbouring rows."""

    def cut(scores: SortedScores, numbers: Sequence[int]) -> Sequence[Starts]:
        levels = [np.linspace(0.0, 1.0, n + 1) for n in numbers]
        level = np.concatenate(levels)
        # numpy.percentile divides by 100, which rounds some levels.
        edges = scores.linear_quantiles(level * 100.0 / 100.0 if percent else level)
        parts = np.split(edges, np.cumsum([len(one) for one in levels])[:-1])
        k = len(scores.cells)
        return [_closed(at, k) for at in _at(scores.cells.score, parts, closed)]

    return cut


def _split_ends(n_rows: int, n: int) -> IntArray:
    """Ends of the parts of numpy.array_split: the first ones have one row more."""
    small, more = divmod(n_rows, n)
    return np.cumsum(np.full(n, small) + (np.arange(n) < more))


def _middles(scores: SortedScores, numbers: Sequence[int]) -> Sequence[Starts]:
    """Equal counts of rows, with edges in the middle between the scores of neighbouring rows."""
    ends = [_split_ends(scores.n_rows, min(n, scores.n_rows))[:-1] for n in numbers]
    flat = np.concatenate(ends)
    edges = (scores.order_statistics(flat - 1) + scores.order_statistics(flat)) / 2.0
    parts = np.split(edges, np.cumsum([len(one) for one in ends])[:-1])
    k = len(scores.cells)
    return [np.concatenate([[0], at, [k]]) for at in _at(scores.cells.score, parts, "right")]


def _split_rows(scores: SortedScores, numbers: Sequence[int]) -> Sequence[Starts]:
    return [
        np.append(0, _split_ends(scores.n_rows, n)) if n <= scores.n_rows else None for n in numbers
    ]


def _hundreds(scores: SortedScores, numbers: Sequence[int]) -> Sequence[Starts]:
    """Bins of 100 rows; those that are left over belong to the last bin."""
    if scores.n_rows < ROWS_PER_BIN:
        return [None] * len(numbers)
    starts = np.arange(scores.n_rows // ROWS_PER_BIN) * ROWS_PER_BIN
    return [np.append(starts, scores.n_rows)] * len(numbers)


def _hundreds_without_last(scores: SortedScores, numbers: Sequence[int]) -> Sequence[Starts]:
    """The same, but the loop of the published code ends before the last bin."""
    return [None if cut is None else cut[:-1] for cut in _hundreds(scores, numbers)]


def _distinct(scores: SortedScores, numbers: Sequence[int]) -> Sequence[Starts]:
    k = len(scores.cells)
    if k >= MAX_DISTINCT_PER_ROW * scores.n_rows:
        return [None] * len(numbers)
    return [np.arange(k + 1)] * len(numbers)


RIGHT = "closed on the right"
LEFT = "closed on the left"
RANGE = "from the lowest to the highest score"
OWN_UNIFORM, OWN_QUANTILE = "right", "quantile"  # The keys of the rules of this project.
_RULES = (
    Rule(OWN_UNIFORM, "uniform", RIGHT, _uniform(linspace, "right")),
    Rule("left", "uniform", LEFT, _uniform(linspace, "left")),
    Rule(
        "right_single",
        "uniform",
        f"{RIGHT}, a score of 0 in no bin, single precision",
        _uniform(torch_linspace_single, "right", ends="open", single=True),
    ),
    Rule("right_fractions", "uniform", f"{RIGHT}, edges i / n", _uniform(fractions, "right")),
    Rule(
        "left_own",
        "uniform",
        f"{LEFT}, a score of 1 in a bin of its own",
        _uniform(torch_linspace, "left", ends="own"),
    ),
    Rule(
        "left_own_single",
        "uniform",
        f"{LEFT}, a score of 1 in a bin of its own, single precision",
        _uniform(torch_linspace_single, "left", ends="own", single=True),
    ),
    Rule("left_floor", "uniform", f"{LEFT}, bin floor(score × n)", _uniform(floored, "left")),
    Rule(
        "left_open",
        "uniform",
        f"{LEFT}, a score of 1 in no bin",
        _uniform(linspace, "left", ends="open"),
    ),
    Rule("range_left", "range", f"{RANGE}, {LEFT}", _range("left")),
    Rule("range_right", "range", f"{RANGE}, {RIGHT}", _range("right")),
    Rule(OWN_QUANTILE, "quantile", "ties never split", _weighted_quantiles),
    Rule(
        "percentile",
        "quantile",
        f"{RIGHT}, edges of numpy.percentile",
        _linear_quantiles(percent=True, closed="right"),
    ),
    Rule(
        "quantile_left",
        "quantile",
        f"{LEFT}, edges of numpy.quantile",
        _linear_quantiles(percent=False, closed="left"),
    ),
    Rule("middles", "quantile", "edges midway between neighbouring rows", _middles),
    Rule("split", "quantile", "rows split evenly", _split_rows, "stable"),
    Rule("split_unstable", "quantile", "rows split evenly", _split_rows, "quick"),
    Rule("hundreds", "rows", "with the last bin", _hundreds, "stable"),
    Rule(
        "hundreds_without_last",
        "rows",
        "without the last bin",
        _hundreds_without_last,
        "quick",
    ),
    Rule(
        "hundreds_without_last_stable",
        "rows",
        "without the last bin",
        _hundreds_without_last,
        "stable",
    ),
    Rule("distinct", "scores", "", _distinct),
)
RULES = {rule.key: rule for rule in _RULES}
# Rules that leave out their last bin, and the rule that would not.
SKIPS_LAST = {"hundreds_without_last": "hundreds", "hundreds_without_last_stable": "hundreds"}


@dataclass(frozen=True, slots=True)
class Code:
    """A published code: a rule, its default number of bins, and the norms that it offers."""

    label: str
    rules: tuple[str, ...]  # Several if the order of equal scores depends on the machine.
    n_bins: int | None  # It is None if the rule finds it.
    norms: tuple[str, ...]
    source: str
    sets_bins: bool = True  # Whether its caller can set another number of bins.
    variant_of: str = ""  # The label of a code that differs only in its precision or strategy.

    def gives(self, n_bins: int, norm: str) -> bool:
        """Whether it computes an error of this norm with this number of bins."""
        return norm in self.norms and (self.sets_bins or n_bins == self.n_bins)


_OUTLIER_EXPOSURE = "github.com/hendrycks/outlier-exposure utils/calibration_tools.py"
_HUNDREDS = tuple(SKIPS_LAST)
CODES = (
    Code(
        "scikit-learn calibration_curve",
        (OWN_UNIFORM,),
        5,
        ("mean", "max", "l1"),
        "scikit-learn 1.9, calibration_curve(strategy='uniform')",
    ),
    Code(
        "scikit-learn calibration_curve (quantile)",
        ("percentile",),
        5,
        ("mean", "max", "l1"),
        "scikit-learn 1.9, calibration_curve(strategy='quantile')",
        variant_of="scikit-learn calibration_curve",
    ),
    Code(
        "torchmetrics",
        ("left_own_single",),
        15,
        ("l1", "l2", "max"),
        "torchmetrics 1.8, calibration_error",
    ),
    Code(
        "torchmetrics (float64)",
        ("left_own",),
        15,
        ("l1", "l2", "max"),
        "torchmetrics 1.8, binary_calibration_error",
        variant_of="torchmetrics",
    ),
    Code("netcal", ("left",), 10, ("l1", "max", "mean"), "netcal 1.4, ECE, MCE, ACE"),
    Code(
        "netcal (equal counts)",
        ("quantile_left",),
        10,
        ("l1", "max", "mean"),
        "netcal 1.4, ECE(equal_intervals=False)",
        variant_of="netcal",
    ),
    Code(
        "Guo et al. 2017",
        ("right_single",),
        15,
        ("l1",),
        "github.com/gpleiss/temperature_scaling _ECELoss",
    ),
    Code("HELM ece_10_bin", ("middles",), 10, ("l1",), "crfm-helm 0.5, basic_metrics", False),
    Code(
        "verified_calibration",
        ("middles",),
        15,
        ("l1", "l2", "debiased"),
        "uncertainty-calibration 0.1.4, get_calibration_error, get_ece_em",
    ),
    Code(
        "verified_calibration (discrete)",
        ("distinct",),
        None,
        ("l1", "l2", "debiased"),
        "uncertainty-calibration 0.1.4, get_binning_ce",
        variant_of="verified_calibration",
    ),
    Code(
        "verified_calibration get_ece",
        ("right_fractions",),
        15,
        ("l1",),
        "uncertainty-calibration 0.1.4, get_ece",
    ),
    Code(
        "Humanity's Last Exam",
        _HUNDREDS,
        None,
        ("l2",),
        "github.com/centerforaisafety/hle run_judge_results.py",
    ),
    Code("Hendrycks et al. 2019", _HUNDREDS, None, ("l2", "l1", "max"), _OUTLIER_EXPOSURE),
)
