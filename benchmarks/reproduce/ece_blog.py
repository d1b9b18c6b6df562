"""[ECE blog] Two worked examples of the expected calibration error, and one bin too few."""

from __future__ import annotations

import numpy as np

from benchmarks.reproduce.published import Measured, Published, Rows, Study
from calib import Settings, analyze, examples, metrics
from calib.figures.reliability import reliability_chart

TITLE = "The expected calibration error, a worked example"
SOURCE = "A blog post on the expected calibration error, with two worked examples and a listing."
TEN = (
    "Ten rows whose bins have the counts and gaps of the blog: its ten scores are not published. "
    "Three right-closed bins of equal width."
)
EXAMPLES = {
    "binary": ("ten_rows", 0.241, "counts 2, 5, 3 and gaps 0.235, 0.286, 0.170"),
    "top label": ("ten_labels", 0.194, "counts 3, 3, 4 and gaps that add up to 1.18, 0.51, 0.25"),
}


def ece(key: str, n_bins: int) -> float:
    """ECE of a built-in example."""
    rows = examples.EXAMPLES[key].load()
    return metrics.expected_calibration_error(rows.outcome, rows.scores, n_bins=n_bins)


def listing(key: str, num_bins: int) -> float:
    """What the listing computes: its edges are linspace(0, 1, num=num_bins)."""
    rows = examples.EXAMPLES[key].load()
    edges = np.linspace(0.0, 1.0, num=num_bins)
    place = np.digitize(rows.scores, edges[1:-1], right=True)
    gaps = [abs((rows.outcome - rows.scores)[place == b].sum()) for b in range(len(edges) - 1)]
    return float(np.sum(gaps) / len(rows))


def measure() -> Measured:
    """Both examples with three bins, and by the listing with num_bins of 3 and 4."""
    rows = []
    for name, (key, printed, what) in EXAMPLES.items():
        rows.append(
            Published(name, printed, ece(key, 3), 5e-4, TEN, f"{what[0].upper()}{what[1:]}.")
        )
        for num in (3, 4):
            said = f"{name}, listing with num_bins = {num}"
            note = f"{num} edges, {num - 1} bins."
            rows.append(Published(said, ece(key, num - 1), listing(key, num), 1e-12, TEN, note))
    settings = Settings(methods=(), strategy="uniform", n_bins=3)
    analysis = analyze(examples.EXAMPLES["ten_rows"].load(), settings)
    return Measured(tuple(rows), {"ece_blog": reliability_chart(analysis, histogram=False)})


def tell(rows: Rows) -> str:
    """Why the listing makes one bin fewer, and what ten rows can tell."""
    fewer = rows["binary, listing with num_bins = 3"].ours
    return (
        "B bins have B + 1 edges. The blog's listing takes `linspace(0, 1, num=num_bins)` for its "
        "edges, which gives num_bins edges and so num_bins - 1 bins. Asked for three bins it "
        f"would make two, and the result of the binary example would be "
        f"{fewer:.3f} instead of 0.241, because gaps of opposite sign cancel in a wider bin. "
        "This project's ECE with one bin fewer is the same number. The worked numbers are "
        "correct: they were made with three bins. The second uses the unrounded gaps; from the "
        "printed ones (0.39, 0.17, 0.06) it would be 0.192. Ten rows are too few for a "
        "conclusion: the intervals in the picture reach the diagonal."
    )


STUDIES = (
    Study(
        "ece_blog",
        "0.241 and 0.194, and one bin too few",
        measure,
        tell,
        {
            "ece_blog": "Reliability diagram of ten rows in three bins; the intervals of all three "
            "reach the diagonal."
        },
    ),
)
