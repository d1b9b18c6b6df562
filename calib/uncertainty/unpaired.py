"""The difference of two estimates from different rows, computed from their intervals."""

from __future__ import annotations

import math

from calib.core.estimate import Estimate


def unpaired_difference(first: Estimate, second: Estimate) -> Estimate:
    """Second minus first, with an interval from the two intervals.

    Interval bounds are combined in quadrature (Zou and Donner 2008). Asymmetric intervals give an
    asymmetric interval.

    Parameters
    ----------
    first, second : Estimate
        Estimates from independent rows with the same confidence level. If one has no interval, the
        difference has none.

    References
    ----------
    Zou and Donner 2008, doi:10.1002/sim.3095; Newcombe 1998,
    doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.

    Examples
    --------
    >>> difference = unpaired_difference(Estimate(0.5, 0.47, 0.53), Estimate(0.7, 0.66, 0.74))
    >>> round(difference.low, 4), round(difference.high, 4)
    (0.15, 0.25)
    """
    value = second.value - first.value
    below = math.hypot(second.value - second.low, first.high - first.value)
    above = math.hypot(second.high - second.value, first.value - first.low)
    return Estimate(value, value - below, value + above)
