"""The natural logarithm from additions, multiplications and divisions: the same on every machine.

Libraries differ in the last digit of ln, and a calibrator magnifies it: at a score of 1e-15, an
error of one unit in the last place of ln moves the probability by up to 35 units. Calibrators take
this one, so that an exported calibrator gives the same numbers in a database as here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.numerics.arrays import FloatArray

HALF_ROOT = 0.7071067811865476  # mantissas are taken from here to twice this
# ln 2 in two parts: the product of the first with an exponent is exact.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
SERIES = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
PART = 1 << 14  # numbers whose temporaries stay in the processor's cache


def reduced_log(mantissa: Any, exponent: Any) -> Any:
    """ln(mantissa 2^exponent), mantissa in [0.707, 1.414], of anything that can be multiplied.

    The error is below one unit in the last place.

    References
    ----------
    Sun Microsystems 1993, fdlibm, e_log.c.
    """
    f = mantissa - 1.0
    s = f / (f + 2.0)
    z = s * s
    series = z * SERIES[6] + SERIES[5]
    for coefficient in SERIES[4::-1]:
        series = series * z + coefficient
    half = f * f * 0.5
    low = exponent * LN2_LOW
    return exponent * LN2_HIGH - ((half - (s * (half + series * z) + low)) - f)


def log(x: FloatArray) -> FloatArray:
    """Natural logarithm of numbers above 0.

    Examples
    --------
    >>> import numpy as np
    >>> log(np.array([1e-300, 0.5, 1.0])).round(1)
    array([-690.8,   -0.7,    0. ])
    """
    flat = np.ravel(x)
    result = np.empty(len(flat))
    for start in range(0, len(flat), PART):
        mantissa, exponent = np.frexp(flat[start : start + PART])
        small = mantissa < HALF_ROOT
        mantissa = np.where(small, 2.0 * mantissa, mantissa)
        result[start : start + PART] = reduced_log(mantissa, (exponent - small).astype(np.float64))
    return result.reshape(np.shape(x))
