"""thresholds.json: the certified thresholds of a desk, for the program that decides."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Any

from calib.features.automate.desk import Desk, Gate

SCHEMA = "calib-thresholds"
SCHEMA_VERSION = 1


def thresholds(desk: Desk, max_error: float = 0.05, *, date: datetime.date | None = None) -> str:
    """The certified thresholds at one error, as JSON text that docs/thresholds.md describes.

    A question without a certified threshold has no entry: its answers need a person.

    Parameters
    ----------
    desk : Desk
    max_error : float
        One of the error rates that the desk certified.
    date : date, optional
        Default: today, in UTC.

    Raises
    ------
    ValueError
        If the desk did not certify this error rate.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> from calib.features.automate.desk import desk
    >>> from calib.features.automate.questions import COUNTS, Question, Questions
    >>> score = np.repeat([0.99, 0.6], 200)
    >>> rows = Predictions.from_arrays(score > 0.9, score)
    >>> number = np.arange(400)
    >>> counts = {name: 0 for name in COUNTS} | dict(asked=400, answered=400, labelled=400)
    >>> spam = Question(
    ...     "spam",
    ...     "choice",
    ...     "",
    ...     "",
    ...     "m-1",
    ...     "probability",
    ...     rows,
    ...     rows,
    ...     number,
    ...     number,
    ...     score,
    ...     counts,
    ... )
    >>> made = thresholds(
    ...     desk(Questions({"spam": spam}, 400, number, ("",) * 400)),
    ...     date=datetime.date(2026, 11, 28),
    ... )
    >>> json.loads(made)["questions"][0]["threshold"]
    0.8
    """
    questions = [
        {
            "question": line.question,
            "model": line.model,
            "type": line.kind,
            "scale": line.scale,
            **_certified(_gate(line.gates, max_error), line.fingerprint),
        }
        for line in desk.lines
        if line.gates and _gate(line.gates, max_error).certificate.threshold is not None
    ]
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "version": SCHEMA_VERSION,
        "date": (date or datetime.datetime.now(datetime.UTC).date()).isoformat(),
        "questions": questions,
    }
    joint = desk.joint
    if joint is not None and _gate(joint.gates, max_error).certificate.threshold is not None:
        content["all_questions"] = {
            "questions": [*joint.questions],
            "scale": "probability",
            **_certified(_gate(joint.gates, max_error), joint.fingerprint),
        }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _gate(gates: Mapping[float, Gate], max_error: float) -> Gate:
    if max_error not in gates:
        certified = ", ".join(f"{error:g}" for error in gates)
        raise ValueError(
            f"max_error must be an error rate that the desk certified ({certified}), got "
            f"{max_error:g}. Add it to the max_errors of desk()."
        )
    return gates[max_error]


def _certified(gate: Gate, fingerprint: str) -> dict[str, Any]:
    made = gate.certificate
    return {
        "threshold": made.threshold,
        "certified_error": made.max_error,
        "confidence": made.confidence,
        "rows": made.n_rows,
        "share": gate.share,
        "fingerprint": fingerprint,
    }
