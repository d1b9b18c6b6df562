"""The difference of two estimates from different rows, by their intervals alone."""

from __future__ import annotations

import math

from calib.core.estimate import Estimate


def unpaired_difference(first: Estimate, second: Estimate) -> Estimate:
    """Second minus first, with the interval that theirs give.

    Each bound adds up, in squares, how far the two bounds that move it lie from their estimates.
    For symmetric intervals that is the normal interval of both half-widths; lopsided ones stay
    lopsided.

    Parameters
    ----------
    first, second : Estimate
        Of independent rows, at one level. Without an interval of both, the difference has none.

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
