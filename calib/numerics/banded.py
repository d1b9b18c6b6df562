"""Symmetric matrices with few diagonals, in LAPACK's lower banded storage: row d is diagonal d."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve_banded
from scipy.linalg.blas import dsbmv
from scipy.sparse import csr_array

from calib.numerics.arrays import FloatArray


def banded_times(banded: FloatArray, c: FloatArray) -> FloatArray:
    """Product of a symmetric matrix in lower banded storage and a vector.

    Examples
    --------
    >>> import numpy as np
    >>> banded_times(np.array([[2.0, 2.0], [1.0, 0.0]]), np.array([1.0, 3.0]))
    array([5., 7.])
    """
    return np.asarray(dsbmv(len(banded) - 1, 1.0, banded, c, lower=1), dtype=np.float64)


def dense(banded: FloatArray) -> FloatArray:
    """The whole of a symmetric matrix in lower banded storage.

    Examples
    --------
    >>> import numpy as np
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
    inverse = cho_solve_banded((factor, True), np.eye(k), check_finite=False)
    stacked = np.zeros((bands, k))
    stacked[0] = np.diagonal(inverse)
    for offset in range(1, min(bands, k)):
        stacked[offset, : k - offset] = 2.0 * np.diagonal(inverse, -offset)
    return stacked.ravel()


def gram_products(basis: csr_array, bands: int) -> csr_array:
    """Matrix from row weights w to basis' diag(w) basis, the diagonals stacked: (bands * k, m).

    Parameters
    ----------
    basis : sparse array of shape (m, k)
        The entries of a row lie within `bands` neighbouring columns.
    bands : int

    Examples
    --------
    >>> import numpy as np
    >>> basis = csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> (gram_products(basis, 2) @ np.ones(2)).reshape(2, 2)
    array([[ 1., 13.],
           [ 2.,  0.]])
    """
    m, k = basis.shape
    table = basis.tocoo()
    first = np.minimum.reduceat(basis.indices, basis.indptr[:-1]).astype(np.int64)
    local = np.zeros((m, 2 * bands))  # the second half stays 0: partners beyond a row's last entry
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
