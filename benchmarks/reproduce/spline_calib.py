"""[SplineCalib] Lucena 2018: Adult, the compact logit, a random forest, and Algorithm 4."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from benchmarks.reproduce.published import NO_VALUE, Measured, Published, Rows, Study
from benchmarks.reproduce.spline_adult import (
    measure_clipping,
    measure_table_1,
    tell_clipping,
    tell_table_1,
)
from benchmarks.reproduce.spline_pictures import compact_logits_chart, forest_chart
from calib import Analysis, CalibratedModel, Predictions, Settings, analyze
from calib.calibrators import multiclass_calibrator
from calib.metrics.matrix import multiclass_metrics
from calib.numerics.transforms import compact_logit

TITLE = "SplineCalib"
SOURCE = 'Lucena 2018, "Spline-based probability calibration", arXiv:1809.07751.'
EPSILONS = (0.1, 0.01, 0.0001)
SEEDS = 10
DIGITS = (
    "The 1,797 digits of scikit-learn, all ten classes. A random forest of 100 trees; half of the "
    "rows are for training and calibration, log loss and accuracy on the other half; mean over "
    "10 seeds."
)


def measure_figure_1() -> Measured:
    """The compact logit at the paper's three epsilons, at points that can be checked by hand."""
    scores = (0.001, 0.05, 0.25)
    protocol = "G(s) by equation: linear in the logit inside [ε, 1 - ε], the identity outside."
    rows = [
        Published(
            f"G({s:g}), ε = {epsilon:g}",
            by_hand(s, epsilon),
            float(compact_logit(np.array([s]), epsilon)[0]),
            1e-12,
            protocol,
        )
        for epsilon in EPSILONS
        for s in scores
    ]
    return Measured(tuple(rows), {"splinecalib_compact_logit": compact_logits_chart(EPSILONS)})


def by_hand(s: float, epsilon: float) -> float:
    """The formula of section 5.1."""
    if not epsilon <= s <= 1 - epsilon:
        return s
    width = 2 * np.log((1 - epsilon) / epsilon)
    return float((1 - 2 * epsilon) / width * np.log(s / (1 - s)) + 0.5)


def tell_figure_1(_rows: Rows) -> str:
    """How to read Figure 1."""
    return (
        "A smaller epsilon spreads out the scores near 0 and 1 more: the curve is steeper "
        "there. At 0.1 the curve is nearly straight; at 0.0001 half of the scale "
        "belongs to scores below 0.01 and above 0.99, where many scores of naive Bayes, "
        "boosted trees and deep networks lie. The published column is the paper's formula."
    )


@cache
def forest_analysis() -> Analysis:
    """A random forest that says whether a digit is 5 or more: 599 rows each to fit and to score."""
    pixels, digit = load_digits(return_X_y=True)
    high = digit >= 5
    train, rest = train_test_split(np.arange(len(high)), train_size=599, random_state=0)
    forest = RandomForestClassifier(100, max_depth=6, random_state=0).fit(
        pixels[train], high[train]
    )
    score = forest.predict_proba(pixels[rest])[:, 1]
    predictions = Predictions.from_arrays(
        high[rest], score, test=np.arange(len(rest)) >= 599, name="random forest"
    )
    return analyze(predictions, Settings(methods=("isotonic", "spline"), n_bins=10))


def measure_figure_4() -> Measured:
    """What the four panels show, in numbers."""
    analysis = forest_analysis()
    protocol = (
        "scikit-learn's digits, is it 5 or more; 100 trees of depth 6 on 599 rows, calibrators "
        "fitted on 599 others and scored on the last 599."
    )
    said = {"log_loss": "log loss", "slope": "slope", "ks_error": "KS error"}
    rows = tuple(
        Published(
            f"{name}, {key}",
            NO_VALUE,
            analysis.methods[key].metrics[metric].value,
            NO_VALUE,
            protocol,
        )
        for metric, name in said.items()
        for key in ("uncalibrated", "spline")
    )
    return Measured(rows, {"splinecalib_forest": forest_chart(analysis)})


def tell_figure_4(rows: Rows) -> str:
    """The reading of Figure 4.1."""
    return (
        "The paper interprets the calibration function of a random forest. Here this is "
        "repeated on data that come with scikit-learn, so there is no published number to "
        "compare with. A forest averages its trees, and an average comes "
        "near 0 or 1 only if all trees agree: its scores are too close to 1/2. For scores "
        "above 0.5 the observed rate is higher than the score, for scores below it is lower; "
        "the calibration function is an S that is steeper than the diagonal (slope "
        f"{rows['slope, uncalibrated'].ours:.2f} instead of 1), and panel (d) shows how "
        "calibration moves the scores outward. On rows that neither the forest nor the "
        f"calibrator has seen, the slope becomes {rows['slope, spline'].ours:.2f} and the log "
        f"loss falls from {rows['log loss, uncalibrated'].ours:.3f} to "
        f"{rows['log loss, spline'].ours:.3f}."
    )


def measure_algorithm_4() -> Measured:
    """Cross-validated calibration against a calibration set, from the same rows."""
    means = pd.DataFrame([one_split(seed) for seed in range(SEEDS)]).mean()
    rows = tuple(
        Published(f"{way}, {metric}", NO_VALUE, means[way, metric], NO_VALUE, DIGITS)
        for metric in ("log loss", "accuracy")
        for way in ("not calibrated", "calibration set", "Algorithm 4")
    )
    return Measured(rows)


def one_split(seed: int) -> dict[tuple[str, str], float]:
    """Log loss and accuracy of the three ways to use the same 898 rows."""
    pixels, digit = load_digits(return_X_y=True)
    x, new, y, truth = train_test_split(
        pixels, digit, test_size=0.5, stratify=digit, random_state=seed
    )
    fit_x, kept_x, fit_y, kept_y = train_test_split(
        x, y, test_size=0.25, stratify=y, random_state=seed
    )
    forest = RandomForestClassifier(100, random_state=seed)
    part = RandomForestClassifier(100, random_state=seed).fit(fit_x, fit_y)
    mapped = multiclass_calibrator("spline").fit(part.predict_proba(kept_x), kept_y)
    ways = {
        "not calibrated": forest.fit(x, y).predict_proba(new),
        "calibration set": mapped.predict(part.predict_proba(new)),
        "Algorithm 4": CalibratedModel(forest, "spline", random_state=seed)
        .fit(x, y)
        .predict_proba(new),
    }
    metrics = {way: multiclass_metrics(truth, p) for way, p in ways.items()}
    return {
        (way, name): metrics[way][key]
        for way in ways
        for name, key in (("log loss", "log_loss"), ("accuracy", "accuracy"))
    }


def tell_algorithm_4(rows: Rows) -> str:
    """What Algorithm 4 saves."""

    def loss(way: str) -> float:
        return rows[f"{way}, log loss"].ours

    def hits(way: str) -> float:
        return 100 * rows[f"{way}, accuracy"].ours

    return (
        "With a calibration set, the model has a quarter fewer rows, and the calibrator has "
        "few. Algorithm 4 fits the calibrator on out-of-fold predictions, and the model on all "
        "rows. From the same rows it reaches a log loss of "
        f"{loss('Algorithm 4'):.3f} instead of {loss('calibration set'):.3f} "
        f"({loss('not calibrated'):.3f} without calibration), and {hits('Algorithm 4'):.1f} % "
        f"instead of {hits('calibration set'):.1f} % of the digits right. "
        "`calib.CalibratedModel` is Algorithm 4."
    )


STUDIES = (
    Study(
        "splinecalib_table1",
        "Table 1: log loss on Adult",
        measure_table_1,
        tell_table_1,
        {
            "splinecalib_adult": "Calibration functions of Platt scaling, isotonic, beta and "
            "spline over the test rows of naive Bayes on Adult: about 30% of rows with scores "
            "between 0.1 and 0.8 are positive, whatever the score."
        },
    ),
    Study(
        "splinecalib_figure1",
        "Figure 1: the compact logit",
        measure_figure_1,
        tell_figure_1,
        {
            "splinecalib_compact_logit": "The compact logit for epsilon 0.1, 0.01 and 0.0001: the "
            "smaller epsilon, the steeper the curve at both ends, and the flatter in the middle."
        },
    ),
    Study(
        "splinecalib_figure4",
        "Figure 4.1: the calibration of a random forest, read",
        measure_figure_4,
        tell_figure_4,
        {
            "splinecalib_forest": "Four panels: reliability of a random forest on the rows that "
            "the calibrator is fitted on and on new rows, both S-shaped; "
            "new rows after calibration, on the diagonal; histograms of "
            "scores before and after."
        },
    ),
    Study(
        "splinecalib_algorithm4",
        "Algorithm 4: cross-validated calibration against a calibration set",
        measure_algorithm_4,
        tell_algorithm_4,
    ),
    Study("splinecalib_clipping", "Clipping against calibration", measure_clipping, tell_clipping),
)
