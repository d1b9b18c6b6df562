"""Symmetric matrices with few diagonals, in LAPACK's lower banded storage: row d is diagonal d."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsbmv
from scipy.linalg.lapack import dpbtrf, dpbtrs, dpotri
from scipy.sparse import csr_array

from calib.numerics.arrays import FloatArray


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
