"""How much more a chi-square varies where rows come in clusters than where they are independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from calib.numerics.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class DesignEffect:
    """Spread of a sum of d squares, against that of d independent standard normal ones.

    Attributes
    ----------
    mean : float
        How many times as large it is on average, at least 1.
    freedom : float
        Degrees of freedom of the chi-square that varies alike, from 1 to d.
    n_squares, n_clusters : int
        d, and the number of clusters.
    """

    mean: float
    freedom: float
    n_squares: int
    n_clusters: int

    def p_value(self, statistic: float) -> float:
        """How often calibrated scores would give so large a sum of squares; NaN of one cluster."""
        if self.n_clusters < 2:
            return float("nan")
        f = statistic / (self.mean * self.n_squares)
        return float(fdtrc(self.freedom, self.freedom * (self.n_clusters - 1), f))

    def of_independent_rows(self, statistic: float) -> float:
        """The sum of squares that is as far out, in mean and variance, if rows are independent."""
        d = self.n_squares
        return float(d + (statistic / self.mean - d) * np.sqrt(self.freedom / d))


def design_effect(
    sums: FloatArray, products: FloatArray, scale: FloatArray, n_clusters: int
) -> DesignEffect:
    """Rao and Scott's correction of a chi-square z' inv(scale) z, where z is the sum of all rows.

    What a row adds to z has mean 0 and a variance that is known, since scores are calibrated under
    the null: only the products of different rows of one cluster are taken from the data. That holds
    where few rows are positive, and the clusters' own spread would rest on those alone. Clusters
    are taken to add spread, never to remove it; how evenly they add it to the d directions is
    judged from pairs of different clusters, whose products are unbiased (Satterthwaite's second
    order).

    Parameters
    ----------
    sums : ndarray of shape (g, d)
        Sum over the rows of each cluster; rows of zeros do no harm.
    products : ndarray of shape (d, d)
        Sum over the rows of z_i z_i'.
    scale : ndarray of shape (d, d)
        Covariance of z that the statistic takes for granted, positive definite.
    n_clusters : int

    References
    ----------
    Rao and Scott 1984, doi:10.1214/aos/1176346391; Thomas and Rao 1987, Journal of the American
    Statistical Association 82, 630-636 (F in place of chi-square).

    Examples
    --------
    Fifty pairs of equal rows vary twice as much as a hundred rows do.

    >>> import numpy as np
    >>> pairs = np.tile([[1.0], [-1.0]], (25, 1))
    >>> two = design_effect(2.0 * pairs, np.array([[100.0]]), np.array([[100.0]]), 50)
    >>> round(two.mean, 9), two.freedom
    (2.0, 1.0)
    """
    root = np.linalg.cholesky(scale)
    z = np.linalg.solve(root, sums.T).T
    d = z.shape[1]
    own = float(np.trace(np.linalg.solve(scale, products)))
    square = np.einsum("gd,gd->g", z, z)
    between = float(square.sum() ** 2 - square @ square)
    aligned = float(np.sum(np.square(z.T @ z)) - square @ square)
    freedom = float(np.clip(between / aligned, 1.0, d)) if aligned > 0.0 else float(d)
    return DesignEffect(max(1.0, 1.0 + (float(square.sum()) - own) / d), freedom, d, n_clusters)
