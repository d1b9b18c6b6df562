"""ln and e^x from additions, multiplications and divisions: the same numbers on every machine.

Libraries differ in the last digit of both, and a calibrator magnifies that of ln: at a score of
1e-15, an error of one unit in the last place of ln moves the probability by up to 35 units.
Calibrators take these, so that an exported calibrator gives the same numbers in a database as here.
Both are off by less than one unit in the last place.

References
----------
Sun Microsystems 1993, fdlibm, e_log.c and e_exp.c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calib.numerics.arrays import FloatArray

HALF_ROOT = 0.7071067811865476  # mantissas are taken from here to twice this
LOG2_E = 1.4426950408889634
# ln 2 in two parts: the product of the first with an exponent is exact.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG_SERIES = (
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)
EXP_SERIES = (
    4.13813679705723846039e-08,
    -1.65339022054652515390e-06,
    6.61375632143793436117e-05,
    -2.77777777770155933842e-03,
    1.66666666666666019037e-01,
)
MIN_POWER, MAX_POWER = -745.0, 709.0  # beyond, e^x is 0 or infinite in float64
PART = 1 << 14  # numbers whose temporaries stay in the processor's cache


def reduced_log(mantissa: Any, exponent: Any) -> Any:
    """ln(mantissa 2^exponent), mantissa in [0.707, 1.414], of anything that can be multiplied."""
    f = mantissa - 1.0
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    low = exponent * LN2_LOW
    return exponent * LN2_HIGH - ((half - (s * (half + _horner(z, LOG_SERIES) * z) + low)) - f)


def reduced_exp(x: Any, exponent: Any) -> Any:
    """e^x / 2^exponent, exponent the whole number next to x / ln 2."""
    high, low = x - exponent * LN2_HIGH, exponent * LN2_LOW
    r = high - low
    z = r * r
    c = r - _horner(z, EXP_SERIES) * z
    return 1.0 - ((low - r * c / (2.0 - c)) - high)


def _horner(z: Any, series: tuple[float, ...]) -> Any:
    value = z * series[0] + series[1]
    for coefficient in series[2:]:
        value = value * z + coefficient
    return value


def log(x: FloatArray) -> FloatArray:
    """Natural logarithm of numbers above 0.

    >>> log(np.array([1e-300, 0.5, 1.0])).round(1)
    array([-690.8,   -0.7,    0. ])
    """
    return _by_parts(_log, x)


def exp(x: FloatArray) -> FloatArray:
    """e^x, where x is first brought to [-745, 709].

    >>> exp(np.array([-1000.0, 0.0, 1.0])).round(6)
    array([0.      , 1.      , 2.718282])
    """
    return _by_parts(_exp, x)


def _log(x: FloatArray) -> FloatArray:
    mantissa, exponent = np.frexp(x)
    small = mantissa < HALF_ROOT
    result: FloatArray = reduced_log(
        np.where(small, 2.0 * mantissa, mantissa), (exponent - small).astype(np.float64)
    )
    return result


def _exp(x: FloatArray) -> FloatArray:
    x = np.clip(x, MIN_POWER, MAX_POWER)
    exponent = np.floor(x * LOG2_E + 0.5)
    result: FloatArray = reduced_exp(x, exponent) * np.ldexp(1.0, exponent.astype(np.int32))
    return result


def _by_parts(function: Callable[[FloatArray], FloatArray], x: FloatArray) -> FloatArray:
    flat = np.ravel(x)
    result = np.empty(len(flat))
    for start in range(0, len(flat), PART):
        part = slice(start, start + PART)
        result[part] = function(flat[part])
    return result.reshape(np.shape(x))
