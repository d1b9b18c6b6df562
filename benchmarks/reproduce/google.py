"""[Google] Richardson, Pospisil 2021: a rare event, a re-weighted model, five repairs."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.reproduce.published import NO_VALUE, Measured, Published, Rows, Study, textbook
from benchmarks.reproduce.small import small_multiples
from benchmarks.reproduce.tables import markdown
from calib import ScoreCells, examples, metrics
from calib.calibrators import Calibrator, calibrator
from calib.curves.reliability import reliability_curve
from calib.figures import Chart
from calib.figures.axes import scale_for
from calib.figures.layers import Subject, band, diagonal, dots
from calib.figures.theme import style_of
from calib.loading.examples import EVENT_WEIGHT

TITLE = "Why model calibration matters and how to achieve it"
SOURCE = (
    'Richardson, Pospisil 2021, "Why model calibration matters and how to achieve it", The '
    "Unofficial Google Data Science Blog."
)
BUCKETS = 10
# A strictly increasing calibrator must not change AUC at all. The second value says which are.
METHODS = {
    "uncalibrated": ("Uncalibrated", True),
    "prior_shift": ("Inverse weights", True),
    "platt": ("Platt scaling (on scores)", True),
    "isotonic": ("Isotonic", False),
    "ispline": ("I-spline", True),
    "pwl": ("Piecewise linear", False),
}
COLUMNS = {
    "log_loss": ("Log loss", 5),
    "calibration": ("Calibration", 5),
    "sharpness": ("Sharpness", 5),
    "irreducible": ("Irreducible", 5),
    "brier_score": ("Brier score", 5),
    "auc": ("AUC", 8),
}
PROTOCOL = (
    "Made here: 60,000 rows from seed 0, one in 37 an event. Logistic regression on half of them "
    "with events counted 40 times; calibrators fitted on 15,000 others, all numbers on the last "
    "15,000. Calibration, sharpness and irreducible are the parts of the log loss."
)


def named(key: str, name: str) -> str:
    """Name of a number of a method."""
    return f"{METHODS[key][0]}: {COLUMNS[name][0]}"


def unfitted(key: str) -> Calibrator:
    """The method; inverse weights know the factor and need no data."""
    arguments = {"r": EVENT_WEIGHT} if key == "prior_shift" else {}
    return textbook(calibrator(key, **arguments))


@cache
def predicted() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Outcomes of the last rows, and their probabilities by method."""
    rows = examples.EXAMPLES["rare_event"].load()
    y, s, test = rows.outcome, rows.scores, rows.test
    return y[test], {key: unfitted(key).fit(s[~test], y[~test]).predict(s[test]) for key in METHODS}


@cache
def found() -> dict[str, dict[str, float]]:
    """All numbers by method."""
    y, scores = predicted()
    return {key: numbers(y, p) for key, p in scores.items()}


def numbers(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """Log loss and its parts, Brier score, AUC."""
    parts = metrics.log_loss_decomposition(y, p)
    return {
        "log_loss": parts.score,
        "calibration": parts.miscalibration,
        "sharpness": parts.discrimination,
        "irreducible": parts.uncertainty,
        "brier_score": metrics.brier_score(y, p),
        "auc": metrics.auc(y, p),
    }


def measure() -> Measured:
    """All numbers; AUC is held against that of the scores where the calibrator rises strictly."""
    before = found()["uncalibrated"]["auc"]
    rows = []
    for key, values in found().items():
        for name, value in values.items():
            held = name == "auc" and METHODS[key][1]
            rows.append(
                Published(
                    named(key, name),
                    before if held else NO_VALUE,
                    value,
                    5e-9 if held else NO_VALUE,
                    PROTOCOL,
                    "Beside it AUC before." if held else "",
                    COLUMNS[name][1],
                )
            )
    return Measured(tuple(rows), {"google_rare_event": diagrams()})


def diagrams() -> Chart:
    """Reliability in ten quantile buckets, a panel a method."""
    y, scores = predicted()
    curves = {
        key: reliability_curve(ScoreCells.from_arrays(y, p), n_bins=BUCKETS)
        for key, p in scores.items()
    }
    scale = scale_for("logit", curves.values())
    panels = {}
    for number, (key, curve) in enumerate(curves.items()):
        first = number == 0
        drawn = [band(curve, scale, legend=first), diagonal(scale, legend=first)]
        drawn.append(dots(Subject(key, "", style_of(key)), curve, scale, joined=False))
        panels[f"<b>{METHODS[key][0]}</b>"] = drawn
    titles = ("Mean predicted probability", "Observed frequency")
    return small_multiples(panels, titles, columns=3, side=190, scale=scale)


def table(rows: Rows) -> str:
    """Methods down, numbers across."""
    lines = {
        label: [f"{rows[named(key, name)].ours:.{d}f}" for name, (_, d) in COLUMNS.items()]
        for key, (label, _) in METHODS.items()
    }
    return markdown([label for label, _ in COLUMNS.values()], lines)


def tell(rows: Rows) -> str:
    """The reading: what re-weighting breaks and what repairs it."""

    def ours(key: str, name: str) -> float:
        return rows[named(key, name)].ours

    return (
        "The article has no data and no numbers to compare with, but its argument can be "
        "reproduced. Re-weighting keeps the ranking and changes every score: of the log loss "
        f"{ours('uncalibrated', 'log_loss'):.3f} no less than "
        f"{ours('uncalibrated', 'calibration'):.3f} is miscalibration, which a calibrator can "
        "remove. Sharpness depends on the ranking and irreducible on the outcomes: no "
        "increasing calibrator changes either. Dividing the odds by the weight needs no data "
        f"and removes nearly all of it "
        f"(calibration {ours('prior_shift', 'calibration'):.5f}); the rest is an error of the "
        "model itself, and the I-spline removes a part of it "
        f"({ours('ispline', 'calibration'):.5f}). Platt's curve of the score itself has the "
        f"wrong shape for odds that are off by a factor ({ours('platt', 'calibration'):.5f}). "
        "Inverse weights, Platt scaling and the I-spline are strictly increasing and leave AUC "
        "unchanged (to 8 digits and more); "
        "isotonic regression and flat pieces of the piecewise-linear calibrator "
        "make ties and change it."
    )


STUDIES = (
    Study(
        "google_rare_event",
        "A re-weighted model of a rare event",
        measure,
        tell,
        {
            "google_rare_event": "Reliability in ten quantile buckets on log-odds axes, one panel "
            "per method: the scores of the re-weighted model lie far below the diagonal and "
            "parallel to it, those of every calibrator on it."
        },
        table,
    ),
)
