"""Prior shift: correct for the re-weighting of a class in training."""

from __future__ import annotations

import math

from calib.calibrators.base import Calibrator
from calib.calibrators.forms import OddsDivided
from calib.calibrators.registry import register
from calib.data.cells import ScoreCells


@register(
    "prior_shift",
    "Prior shift",
    simplicity=15,
    summary="Assumes that only the base rate differs from that of the training rows.",
    source="Richardson, Pospisil 2021",
    aliases="label shift, prior correction, correction for undersampling",
)
class PriorShift(Calibrator):
    """Prior shift: p / (p + (1 - p) r), which divides the odds by r.

    If positive rows were re-weighted or re-sampled by a factor r in training, the odds of the
    model are too high by this factor.

    Parameters
    ----------
    r : float, default 1.0
        The factor, above 0. With 1 nothing changes.
    base_rate : float or None, default None
        True share of positive rows, in (0, 1). If it is given, `r` is not used. The factor is then
        the odds of the base rate of the fitted rows, divided by the odds of the true base rate.

    Attributes
    ----------
    r_ : float
        Factor in use.

    References
    ----------
    Richardson, Pospisil 2021, "Why model calibration matters and how to achieve it".
    Elkan 2001, "The foundations of cost-sensitive learning", IJCAI, theorem 2.

    Examples
    --------
    Half of the training rows were positive, but the true base rate is 0.1:

    >>> fitted = PriorShift(base_rate=0.1).fit([0.2, 0.8], [0, 1])
    >>> fitted.formula()
    's / (s + 9 (1 - s))'
    >>> fitted.predict([0.0, 0.5, 1.0])
    array([0. , 0.1, 1. ])
    """

    needs_both_classes = False

    def __init__(self, r: float = 1.0, base_rate: float | None = None) -> None:
        self.r = r
        self.base_rate = base_rate

    def _fit(self, cells: ScoreCells) -> None:
        if self.base_rate is not None:
            self.r_ = _odds(cells) * (1.0 - self.base_rate) / _checked(self.base_rate)
        elif 0.0 < self.r < math.inf:
            self.r_ = float(self.r)
        else:
            raise ValueError(f"r must be positive and finite, got {self.r}.")

    def to_map(self) -> OddsDivided:
        return OddsDivided(self.r_)

    def n_parameters(self) -> float:
        return int(self.base_rate is not None)

    def formula(self) -> str:
        r = f"{self.r_:.3g}"
        return "s: the score unchanged, with r = 1" if r == "1" else f"s / (s + {r} (1 - s))"


def _checked(base_rate: float) -> float:
    if not 0.0 < base_rate < 1.0:
        raise ValueError(f"base_rate must fulfil 0 < base_rate < 1, got {base_rate}.")
    return base_rate


def _odds(cells: ScoreCells) -> float:
    if cells.one_class:
        raise ValueError(
            "A true base rate can only be compared with rows of both classes, "
            f"got only class {int(cells.total_positive > 0)}. Give r instead."
        )
    return cells.total_positive / (cells.total_weight - cells.total_positive)
