"""Numbers as a report prints them."""

from __future__ import annotations

import math
from datetime import datetime

from calib.crossfit.comparison import Estimate

MINUS = "−"
UNKNOWN = "–"
CALIBRATED = "Calibrated: what a calibrated model of this size shows on average."
# strftime's names follow the machine's language; a report's do not.
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def number(value: float, digits: int) -> str:
    """A number with its decimals.

    Examples
    --------
    >>> number(-0.12345, 3), number(12345.0, 0), number(float("nan"), 3)
    ('−0.123', '12,345', '–')
    """
    return _written(value, f",.{digits}f")


def signed(value: float, digits: int) -> str:
    """A difference, with its sign.

    Examples
    --------
    >>> signed(0.5, 2), signed(-0.5, 2), signed(-0.001, 2)
    ('+0.50', '−0.50', '0.00')
    """
    return _written(value, f"+,.{digits}f")


def _written(value: float, form: str) -> str:
    if math.isnan(value):
        return UNKNOWN
    text = f"{value:{form}}"
    # What rounds to zero has no sign.
    return text.lstrip("+-") if float(text.replace(",", "")) == 0 else text.replace("-", MINUS)


def interval(estimate: Estimate, digits: int, *, sign: bool = False) -> str:
    """The bounds of an estimate, empty where it has none.

    Examples
    --------
    >>> interval(Estimate(0.5, 0.4, 0.6), 2), interval(Estimate(0.5), 2)
    ('0.40 to 0.60', '')
    """
    if math.isnan(estimate.low):
        return ""
    written = signed if sign else number
    return f"{written(estimate.low, digits)} to {written(estimate.high, digits)}"


def calibrated(estimate: Estimate, digits: int) -> str:
    """The noise floor of a calibration error, empty where it has none.

    Examples
    --------
    >>> calibrated(Estimate(0.2, noise_floor=0.148), 3), calibrated(Estimate(0.2), 3)
    ('calibrated: 0.148', '')
    """
    floor = estimate.noise_floor
    return "" if math.isnan(floor) else f"calibrated: {number(floor, digits)}"


def percent(rate: float) -> str:
    """A rate in percent.

    Examples
    --------
    >>> percent(0.2468), percent(0.00012)
    ('24.7%', '0.012%')
    """
    return f"{100 * rate:.1f}%" if rate >= 0.001 or rate == 0 else f"{100 * rate:.2g}%"


def moment(date: datetime) -> str:
    """A date and time in UTC.

    Examples
    --------
    >>> moment(datetime(2026, 3, 1, 9, 5))
    '1 March 2026, 09:05 UTC'
    """
    return f"{date.day} {MONTHS[date.month - 1]} {date.year}, {date:%H:%M} UTC"


def written_setting(value: object) -> str:
    """The value of a setting.

    Examples
    --------
    >>> written_setting(None), written_setting(("platt", "beta")), written_setting(15)
    ('by rule', 'platt, beta', '15')
    """
    if value is None:
        return "by rule"
    return ", ".join(value) if isinstance(value, tuple) else str(value)
