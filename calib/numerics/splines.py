"""Polynomials by pieces, natural cubic splines, and the spline through the cumulative outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline, CubicSpline, PPoly
from scipy.sparse import csr_array

from calib.numerics.arrays import FloatArray, IntArray, Locked
from calib.numerics.few_cells import Buckets, bucket_starts


@dataclass(frozen=True, slots=True, eq=False)
class Pieces(Locked):
    """Piece i is sum over d of coefficients[i, d] (x - centers[i])^d, by Horner's rule."""

    edges: FloatArray  # Edges, shape (k,), do not decrease.
    # An edge belongs to the piece that begins there if "left", and to the one that ends there if
    # "right".
    closed: Literal["left", "right"]
    centers: FloatArray
    coefficients: FloatArray  # Constant terms come first; the shape is (k + 1, d + 1).

    def __call__(self, x: FloatArray) -> FloatArray:
        """The values at x, an array of any length."""
        piece = np.searchsorted(self.edges, x, side="right" if self.closed == "left" else "left")
        value: FloatArray = self.coefficients[piece, -1]
        if self.coefficients.shape[1] > 1:
            z = x - self.centers[piece]
            for d in range(self.coefficients.shape[1] - 2, -1, -1):
                value = value * z + self.coefficients[piece, d]
        return value

    def bound(self, low: float, high: float) -> float:
        """A number that no absolute value exceeds at x in [low, high].

        >>> lines(np.array([0.0, 1.0]), np.array([1.0, -3.0])).bound(0.0, 1.0)
        5.0
        """
        ends = np.clip(self.edges, low, high)
        first, last = np.append(low, ends), np.append(ends, high)
        reach = np.maximum(abs(first - self.centers), abs(last - self.centers))
        powers = reach[:, None] ** np.arange(self.coefficients.shape[1])
        return float((abs(self.coefficients) * powers).sum(axis=1).max())


def steps(edges: ArrayLike, values: ArrayLike, closed: Literal["left", "right"]) -> Pieces:
    """A constant on each piece.

    >>> steps([0.5], [1.0, 2.0], "right")(np.array([0.5, 0.6]))
    array([1., 2.])
    """
    constants = np.array(values, dtype=np.float64)[:, None]
    return Pieces(np.array(edges, dtype=np.float64), closed, np.zeros(len(constants)), constants)


def lines(knots: FloatArray, values: FloatArray) -> Pieces:
    """Straight lines between knots and constants beyond them, with the numbers of ``np.interp``.

    >>> lines(np.array([0.0, 1.0]), np.array([1.0, 3.0]))(np.array([-1.0, 0.5, 2.0]))
    array([1., 2., 3.])
    """
    with np.errstate(over="ignore"):
        slope = np.diff(values) / np.diff(knots)
    # The slope is infinite if knots are neighbours among the smallest floats. No score lies between
    # them, so any finite slope gives the same values.
    slopes = np.concatenate([[0.0], np.where(np.isfinite(slope), slope, 0.0), [0.0]])
    constants = np.concatenate([values[:1], values])
    centers = np.concatenate([knots[:1], knots])
    return Pieces(np.array(knots), "left", centers, np.column_stack([constants, slopes]))


def of_polynomials(edges: FloatArray, coefficients: FloatArray) -> Pieces:
    """Pieces of SciPy's ``PPoly``: all edges, both ends included, and coefficients, highest first.

    The first and the last piece go on beyond the ends.
    """
    return Pieces(
        np.array(edges[1:-1]), "left", np.array(edges[:-1]), np.array(coefficients[::-1].T)
    )


def of_bspline(spline: BSpline) -> Pieces:
    """The same curve in powers, from its first knot to its last.

    >>> curve = BSpline(np.array([0, 0, 1, 1.0]), np.array([1.0, 3.0]), 1)
    >>> of_bspline(curve)(np.array([0.0, 0.5, 1.0]))
    array([1., 2., 3.])
    """
    powers, inner = PPoly.from_spline(spline), slice(spline.k, -spline.k)
    return of_polynomials(powers.x[inner], powers.c[:, inner])


def constant_beyond(pieces: Pieces, low: float, high: float) -> Pieces:
    """The same pieces within [low, high], and constant beyond these bounds."""
    ends = pieces(np.array([low, high]))
    table = np.zeros((len(pieces.centers) + 2, pieces.coefficients.shape[1]))
    table[1:-1], table[[0, -1], 0] = pieces.coefficients, ends
    edges = np.concatenate([[low], pieces.edges, [high]])
    return Pieces(edges, pieces.closed, np.concatenate([[low], pieces.centers, [high]]), table)


CUBIC_ORDER = 4  # Every Gram matrix has as many bands, the diagonal included.


class NaturalSpline:
    """Natural cubic splines on given knots: cubic between them, straight lines outside.

    The basis is that of cubic B-splines in which the first and the last function are expressed by
    their two neighbours, so that the second derivative vanishes at both ends. As many functions as
    knots; each is non-zero on at most five intervals, so that Gram matrices have three bands beside
    the diagonal. Coefficients that are all c give the constant c.

    At least two knots, strictly increasing, are needed. See de Boor 2001, "A Practical Guide to
    Splines". Green and Silverman 1994, "Nonparametric Regression and Generalized Linear Models",
    section 2.

    >>> spline = NaturalSpline(np.array([0.0, 1.0, 3.0]))
    >>> spline.basis(np.array([0.0, 2.0])).sum(axis=1).round(12)
    array([1., 1.])
    """

    def __init__(self, knots: FloatArray) -> None:
        self.knots = knots
        self._padded = np.concatenate([[knots[0]] * 3, knots, [knots[-1]] * 3])
        self._fold = self._natural_ends()

    def __len__(self) -> int:
        return len(self.knots)

    def basis(self, x: FloatArray) -> csr_array:
        """Value of every basis function at `x`, from the first knot to the last: sparse, (n, k)."""
        return csr_array(BSpline.design_matrix(x, self._padded, CUBIC_ORDER - 1) @ self._fold)

    def evaluate(self, coefficients: FloatArray, x: FloatArray) -> FloatArray:
        """The spline at `x`; beyond the end knots it goes on as a straight line."""
        return self.pieces(coefficients)(x)

    def pieces(self, coefficients: FloatArray) -> Pieces:
        """The spline as cubics between the knots and straight lines beyond them."""
        curve = BSpline(self._padded, self._fold @ coefficients, CUBIC_ORDER - 1)
        at_ends = self.knots[[0, -1]]
        ends, slopes = curve(at_ends), self._derivative(1, at_ends) @ coefficients
        inner = of_bspline(curve).coefficients
        table = np.zeros((len(inner) + 2, CUBIC_ORDER))
        table[1:-1], table[[0, -1], 0], table[[0, -1], 1] = inner, ends, slopes
        return Pieces(self.knots, "left", np.concatenate([self.knots[:1], self.knots]), table)

    def through(self, values: FloatArray) -> FloatArray:
        """Coefficients of the spline that has these values at the knots."""
        return np.asarray(np.linalg.solve(self.basis(self.knots).toarray(), values))

    def curvature(self) -> FloatArray:
        """Matrix P with c' P c = integral of f''^2, in lower banded storage, shape (4, k).

        f'' is linear between knots, so the integral over an interval of length h with ends u, v is
        h (u^2 + u v + v^2) / 3.
        """
        second = csr_array(self._derivative(2, self.knots))
        gap = np.diff(self.knots)
        diagonal = (np.append(gap, 0.0) + np.append(0.0, gap)) / 3.0
        k = len(self)
        inner = csr_array(np.diag(diagonal) + np.diag(gap / 6.0, 1) + np.diag(gap / 6.0, -1))
        dense = (second.T @ inner @ second).toarray()
        banded = np.zeros((CUBIC_ORDER, k))
        for offset in range(min(CUBIC_ORDER, k)):
            banded[offset, : k - offset] = np.diagonal(dense, -offset)
        return banded

    def _derivative(self, order: int, x: FloatArray) -> FloatArray:
        """Dense (n, k): the derivative at `x` of every basis function."""
        identity = np.eye(len(self) + 2)
        derivatives = BSpline(self._padded, identity, CUBIC_ORDER - 1).derivative(order)(x)
        return np.asarray(derivatives @ self._fold.toarray(), dtype=np.float64)

    def _natural_ends(self) -> csr_array:
        """Matrix (k + 2, k) from our coefficients to those of the B-splines."""
        k = len(self)
        identity = np.eye(k + 2)
        second = BSpline(self._padded, identity, CUBIC_ORDER - 1).derivative(2)(self.knots[[0, -1]])
        fold = identity[:, 1:-1].copy()
        fold[0, :2] = -second[0, 1:3] / second[0, 0]
        fold[-1, -2:] = -second[1, -3:-1] / second[1, -1]
        return csr_array(fold)


def choose_knots(x: FloatArray, buckets: Buckets, most: int) -> IntArray:
    """Cells to put knots at: all buckets if they are few, else a choice of them; both ends always.

    Half of the choice is even on the axis, half holds equal weight. Knots closer than an eighth of
    the mean distance are thinned: the penalty's condition grows with the inverse cube of the gap.

    The positions x of the cells do not decrease and are not constant.
    """
    starts = buckets.starts
    chosen = starts[bucket_starts(x[starts], buckets.weight, most)]
    gap = (x[-1] - x[0]) / (8 * most)
    kept = [0]
    for cell in chosen.tolist():
        if x[cell] - x[kept[-1]] >= gap and x[-1] - x[cell] >= gap:
            kept.append(cell)
    return np.array([*kept, len(x) - 1])


def truncated_powers(x: FloatArray, knots: FloatArray) -> FloatArray:
    """The textbook basis of natural cubic splines, without its constant: shape (n, k - 1).

    At least two knots, strictly increasing, are needed. See Hastie, Tibshirani, Friedman 2009, "The
    Elements of Statistical Learning", equations 5.4, 5.5.

    >>> truncated_powers(np.array([1.0, 2.0]), np.array([0.0, 1.0, 2.0]))
    array([[1. , 0.5],
           [2. , 3. ]])
    """
    cubes = np.maximum(x[:, None] - knots, 0.0) ** 3
    scaled = (cubes[:, :-1] - cubes[:, -1:]) / (knots[-1] - knots[:-1])
    return np.column_stack([x, scaled[:, :-1] - scaled[:, -1:]])


# The cumulative curve is read at this many even fractiles. A curve of many rows takes no more time,
# and a run of tied scores (a straight piece of the curve) counts by its length.
N_READINGS = 2000


def fit_cumulative_spline(
    fractile: FloatArray, cumulative: FloatArray, n_knots: int = 6
) -> CubicSpline:
    """Natural cubic spline with even knots, fitted by least squares to the cumulative outcome h(t).

    `fractile` and `cumulative` are shares of the total weight, from 0, of all rows and of the
    positive rows up to each cell. Raises ValueError if `n_knots` is below 2. See Gupta et al. 2021,
    section 4, arXiv:2006.12800.
    """
    if n_knots < 2:
        raise ValueError(f"n_knots must be at least 2, got {n_knots}.")
    knots = np.linspace(0.0, 1.0, n_knots)
    t = np.linspace(0.0, 1.0, N_READINGS + 1)
    # A natural spline is linear in its values at the knots, so each knot has a column.
    basis = CubicSpline(knots, np.eye(n_knots), bc_type="natural")(t)
    values = np.linalg.lstsq(basis, np.interp(t, fractile, cumulative), rcond=None)[0]
    return CubicSpline(knots, values, bc_type="natural")


def recalibrated_probability(
    fractile: FloatArray, cumulative: FloatArray, at: FloatArray
) -> FloatArray:
    """Slope of `fit_cumulative_spline` at some fractiles, in [0, 1]: P(y = 1) of the rows there.

    >>> t = np.linspace(0.0, 1.0, 101)
    >>> recalibrated_probability(t, t**2 / 2.0, np.array([0.25, 0.5])).round(3)
    array([0.248, 0.5  ])
    """
    slope = fit_cumulative_spline(fractile, cumulative).derivative()
    return np.clip(slope(at), 0.0, 1.0)
