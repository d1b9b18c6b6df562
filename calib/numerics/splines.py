"""Natural cubic splines, the spline through the cumulative outcome, and banded matrices.

Symmetric matrices with few diagonals are in LAPACK's lower banded storage: row d is diagonal d.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline, CubicSpline, PPoly
from scipy.linalg.blas import dsbmv
from scipy.linalg.lapack import dpbtrf, dpbtrs, dpotri
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


def banded_times(banded: FloatArray, c: FloatArray) -> FloatArray:
    """Product of a symmetric matrix in lower banded storage and a vector.

    >>> banded_times(np.array([[2.0, 2.0], [1.0, 0.0]]), np.array([1.0, 3.0]))
    array([5., 7.])
    """
    return np.asarray(dsbmv(len(banded) - 1, 1.0, banded, c, lower=1), dtype=np.float64)


def banded_factor(banded: FloatArray) -> FloatArray:
    """Cholesky factor of a symmetric matrix in lower banded storage.

    LAPACK itself: SciPy's checks would take longer than the work on such small matrices.

    Raises numpy.linalg.LinAlgError if the matrix is not positive definite.

    >>> banded_solve(banded_factor(np.array([[2.0, 2.0], [1.0, 0.0]])), np.array([3.0, 3.0]))
    array([1., 1.])
    """
    factor, refused = dpbtrf(banded, lower=1)
    if refused:
        raise np.linalg.LinAlgError("The matrix is not positive definite.")
    return np.asarray(factor)


def banded_solve(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solution of the equations of a matrix that has this Cholesky factor."""
    return np.asarray(dpbtrs(factor, right, lower=1)[0])


def dense(banded: FloatArray) -> FloatArray:
    """The whole of a symmetric matrix in lower banded storage.

    >>> dense(np.array([[2.0, 2.0], [1.0, 0.0]]))
    array([[2., 1.],
           [1., 2.]])
    """
    k = banded.shape[1]
    whole = np.diag(banded[0])
    for offset in range(1, min(len(banded), k)):
        band = banded[offset, : k - offset]
        whole += np.diag(band, offset) + np.diag(band, -offset)
    return whole


def inverse_band(factor: FloatArray) -> FloatArray:
    """Diagonals of the inverse of the matrix that has this Cholesky factor.

    In one row, as `gram_products` stacks them; those off the main one count twice, for both sides.
    """
    bands, k = factor.shape
    # The full factor is used, although it is mostly 0, because the inverse is then one solve.
    whole = np.zeros(k * k)
    for offset in range(min(bands, k)):
        whole[offset : k * (k - offset) : k + 1] = factor[offset, : k - offset]
    inverse = dpotri(whole.reshape(k, k).T, lower=1, overwrite_c=1)[0]
    stacked = np.zeros((bands, k))
    stacked[0] = np.diagonal(inverse)
    for offset in range(1, min(bands, k)):
        stacked[offset, : k - offset] = 2.0 * np.diagonal(inverse, -offset)
    return stacked.ravel()


def gram_products(basis: csr_array, bands: int) -> csr_array:
    """Matrix from row weights w to basis' diag(w) basis, the diagonals stacked: (bands * k, m).

    The entries of a row of the basis, of shape (m, k), lie within `bands` neighbouring columns.

    >>> basis = csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> (gram_products(basis, 2) @ np.ones(2)).reshape(2, 2)
    array([[ 1., 13.],
           [ 2.,  0.]])
    """
    m, k = basis.shape
    table = basis.tocoo()
    first = np.minimum.reduceat(basis.indices, basis.indptr[:-1]).astype(np.int64)
    # The second half stays 0: it pairs the last entries of a row with columns beyond them.
    local = np.zeros((m, 2 * bands))
    local[table.row, table.col - first[table.row]] = table.data
    rows, values = [], []
    for offset in range(bands):
        for column in range(bands):
            rows.append(offset * k + np.minimum(first + column, k - 1))
            values.append(local[:, column] * local[:, column + offset])
    cells = np.tile(np.arange(m), len(rows))
    products = csr_array(
        (np.concatenate(values), (np.concatenate(rows), cells)), shape=(bands * k, m)
    )
    products.eliminate_zeros()
    return products
