"""The example of the page Judge: made-up answers, a lenient judge, and gold labels of some."""

from __future__ import annotations

from functools import cache

import numpy as np

from calib.data.judged import JudgedRows
from calib.numerics.transforms import sigmoid

N_ROWS, N_LABELS = 2000, 300
QUESTIONS = (
    "How do I return a parcel?",
    "Can I change the address of my order?",
    "Why was my card declined?",
    "When is the shop open on Sundays?",
    "How do I cancel my subscription?",
)
PRAISE = (
    "Answers the question, and names the page of the manual.",
    "Correct and complete; the tone is friendly.",
    "The steps are in the right order.",
)
BLAME = (
    "Leaves out the deadline.",
    "Answers another question than the one that was asked.",
    "The link does not exist.",
)


@cache
def judged_example() -> JudgedRows:
    """Answers of a customer service, of which about three in five are right.

    The judge's scores are too high on average, and often miss wrong answers.

    Examples
    --------
    >>> rows = judged_example()
    >>> len(rows), int(rows.labelled.sum())
    (2000, 300)
    """
    rng = np.random.default_rng(20)
    passed = rng.random(N_ROWS) < 0.62
    score = sigmoid(rng.normal(np.where(passed, 2.4, 0.9), 1.1)).round(2)
    said = np.where(score >= 0.5, rng.choice(PRAISE, N_ROWS), rng.choice(BLAME, N_ROWS))
    labelled = np.zeros(N_ROWS, dtype=np.bool_)
    labelled[rng.choice(N_ROWS, N_LABELS, replace=False)] = True
    return JudgedRows.from_arrays(
        score,
        np.where(labelled, passed, np.nan),
        columns={
            "id": np.array([f"answer-{number:04d}" for number in range(1, N_ROWS + 1)]),
            "question": rng.choice(QUESTIONS, N_ROWS),
            "explanation": said,
        },
        judge_columns=("explanation",),
        name="example",
    )
