"""Numbers as a report prints them."""

from __future__ import annotations

CALIBRATED = "Calibrated: what a calibrated model of this size shows on average."


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
