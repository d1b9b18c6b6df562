"""[SplineCalib] Table 1: naive Bayes on Adult, and what clipping does to it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from benchmarks.reproduce.published import NO_VALUE, Measured, Published, Rows
from benchmarks.reproduce.sources import find
from calib import Analysis, Predictions, Settings, analyze, metrics
from calib.calibrators import calibrator
from calib.figures.functions import functions_chart

P_MINS = (1e-2, 1e-3, 1e-4, 1e-5)
ADULT = (
    "UCI Adult. Bernoulli naive Bayes on six one-hot features and 75 % of adult.data; the "
    "calibrators are fitted on its other 8,141 rows; log loss on the 16,281 rows of adult.test."
)


@cache
def adult() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Calibration and test rows of the naive Bayes model."""
    return tuple(pd.read_csv(find(f"adult/adult_nb_{part}.csv")) for part in ("cal", "test"))


def adult_loss(key: str, *, clip: float = 0.0, **parameters: object) -> float:
    """Log loss on the test rows after a calibrator fitted on the calibration rows."""
    fit_on, test = adult()
    fitted = calibrator(key, **parameters).fit(fit_on.score, fit_on.y)
    return metrics.log_loss(test.y, np.clip(fitted.predict(test.score), clip, 1.0 - clip))


@cache
def adult_analysis() -> Analysis:
    """The same rows as a person would load them."""
    rows = pd.concat(adult(), keys=["calibration", "test"], names=["part"]).reset_index("part")
    predictions = Predictions.from_arrays(
        rows.y, rows.score, test=rows.part == "test", name="Adult, naive Bayes"
    )
    return analyze(predictions, Settings(methods=("platt", "isotonic", "beta", "spline")))


def measure_table_1() -> Measured:
    """Log losses of Table 1, and of three methods that it has not."""
    half = 0.5e-4  # This is half a unit of the last printed decimal.

    def row(
        name: str, published: float, ours: float, tolerance: float, note: str = "", **more: bool
    ) -> Published:
        return Published(name, published, ours, tolerance, ADULT, note, digits=5, **more)

    elsewhere = "Not in the paper: beside it the same method by {}."
    rows = (
        row("uncalibrated", 0.7448, adult_loss("uncalibrated"), half),
        row("Platt scaling (on scores)", 0.4287, adult_loss("platt"), half),
        row(
            "isotonic",
            0.3976,
            adult_loss("isotonic", shrink=False),
            NO_VALUE,
            "The scikit-learn of 2018 averaged the weights of ties.",
        ),
        row(
            "isotonic, clipped at 1e-15",
            0.3940,
            adult_loss("isotonic", clip=1e-15, shrink=False),
            half,
            elsewhere.format("scikit-learn 1.9.1"),
        ),
        row(
            "SplineCalib",
            0.4032,
            adult_loss("splinecalib", transform="none", least_lambda=1e-4),
            0.002,
            at_most=True,
        ),
        row("SplineCalib, compact logit", 0.3934, adult_loss("splinecalib"), 0.0006, at_most=True),
        row("beta", 0.4031, adult_loss("beta"), 0.0002, elsewhere.format("betacal 1.1.0")),
        row(
            "logistic on log-odds",
            NO_VALUE,
            adult_loss("logistic"),
            NO_VALUE,
            "Not in the paper.",
        ),
        row("spline", NO_VALUE, adult_loss("spline"), NO_VALUE, "Not in the paper."),
    )
    shown = ("platt", "isotonic", "beta", "spline")
    picture = functions_chart(adult_analysis(), shown, rows="test")
    return Measured(rows, {"splinecalib_adult": picture})


def tell_table_1(rows: Rows) -> str:
    """Where Table 1 and ours differ."""
    return (
        "The paper's isotonic regression came from a scikit-learn that averaged the weights of "
        "tied scores instead of adding them; naive Bayes on one-hot features makes many ties. "
        f"With all weights added it is {rows['isotonic, clipped at 1e-15'].ours:.4f}, or "
        f"{rows['isotonic'].ours:.4f} by this project's definition: isotonic regression gives "
        "one positive row the probability 0, and the loss of this row depends on where the "
        "logarithm is clipped (1e-15 in scikit-learn at that time, 2.2e-16 here and in "
        "scikit-learn today). "
        "SplineCalib draws its knots and folds at random: reruns of the author's package spread "
        "from 0.4012 to 0.4029 (untransformed) and from 0.3932 to 0.3940 (compact logit), and "
        "ours, which draws nothing at random, must not be worse. The order is that of the "
        "paper: Platt scaling is better than uncalibrated, and the compact logit is best. "
        "With its exact curvature "
        f"penalty, `spline` reaches {rows['spline'].ours:.4f}."
    )


def measure_clipping() -> Measured:
    """Log loss on Adult when scores are only kept from being too sure."""
    clipped = [
        Published(f"clipped at {p:g}", NO_VALUE, adult_loss("clip", p_min=p), NO_VALUE, ADULT)
        for p in P_MINS
    ]
    calibrated = ("uncalibrated", "splinecalib", "spline")
    rows = [Published(key, NO_VALUE, adult_loss(key), NO_VALUE, ADULT) for key in calibrated]
    return Measured((*clipped, *rows))


def tell_clipping(rows: Rows) -> str:
    """What clipping does and does not."""
    best = min((rows[f"clipped at {p:g}"] for p in P_MINS), key=lambda row: row.ours)
    saved = rows["uncalibrated"].ours - best.ours
    whole = rows["uncalibrated"].ours - rows["splinecalib"].ours
    return (
        "Wrong scores of 0.9999 make the log loss large. The simplest correction is to clip "
        f"such scores. The best bound ({best.name}) saves {saved:.3f} of the {whole:.3f} that "
        "calibration saves: the model is overconfident over its whole range, not only at the "
        "ends."
    )
