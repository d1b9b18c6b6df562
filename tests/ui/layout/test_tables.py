"""The metric table in words."""

import math
import re

import numpy as np
import pytest

from calib import examples
from calib.analysis import Column, analyze, method_results
from calib.blocks.kinds import Value
from calib.blocks.methods import direction, metric_columns, to_best
from calib.crossfit.cross_fitted import MethodMetrics
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.metrics import matrix_metrics
from calib.numerics.intervals import Estimate
from calib.words.measures import metric_interval
from tests.once import analysed


def test_calibration_errors_stand_beside_what_a_calibrated_model_shows():
    rng = np.random.default_rng(4)
    score = rng.beta(2, 2, 60)
    rows = Predictions.from_arrays(rng.random(60) < score, score)
    analysis = analyze(rows, Settings(methods=(), n_bins=10))
    columns = metric_columns(analysis.columns, analysis.methods, {})
    cells = {column.key: column.cells.get("uncalibrated", Value("")) for column in columns}
    levels = {column.key for column in columns if column.has_chance_level}
    assert levels == {"ece_uniform", "ece_quantile", "mce", "ks_error"}
    for column in analysis.columns:
        found = analysis.uncalibrated.metrics[column.key]
        if column.key in levels:
            assert bool(cells[column.key].warning) == (found.low > 0.0)
        if not math.isnan(found.low):
            assert cells[column.key].detail == metric_interval(column.key, found, column.digits)
    # A calibrated model has this ECE with 60 rows in 10 bins.
    assert 0.13 < analysis.uncalibrated.metrics["ece_quantile"].noise_floor < 0.16


@pytest.mark.parametrize(("low", "said"), [(0.0, "0.0% to 4.3%"), (0.001, "too large for chance")])
def test_an_error_is_above_chance_unless_its_interval_holds_zero(low, said):
    column = Column("ece_quantile", "ECE", "")
    found = MethodMetrics(
        "uncalibrated",
        "Uncalibrated",
        {"ece_quantile": Estimate(0.03, low, 0.043, noise_floor=0.0225)},
        {},
    )
    (made,) = metric_columns([column], {"uncalibrated": found}, {})
    assert made.cells["uncalibrated"].lines[-1] == said
    assert made.values["uncalibrated"].columns(made.name)["ece_quantile_noise_floor"] == 0.0225


def test_the_difference_from_the_best_is_a_tie_if_its_interval_holds_zero(texts):
    rng = np.random.default_rng(4)
    score = rng.beta(2, 2, 600)
    rows = Predictions.from_arrays(rng.random(600) < score, score)
    analysis = analyze(rows, Settings(methods=("platt",)))
    given = {"uncalibrated": Estimate(0.02, -0.01, 0.05), "platt": Estimate(0.0, 0.0, 0.0)}
    (column,) = (
        column
        for column in metric_columns(analysis.columns, analysis.methods, given)
        if column.label == "Log loss difference\nfrom the best"
    )
    texts("\n".join(column.cells["uncalibrated"].lines))
    assert column.cells["platt"] == Value("best", order=0.0)


def test_a_difference_that_no_printed_digit_shows_is_equal():
    assert to_best(Estimate(1e-5, -4e-5, 4e-5), "0.0000").text == "equal"
    assert to_best(Estimate(1e-5, -4e-5, 6e-5), "0.0000").text != "equal"


def test_the_ks_error_is_in_per_cent_and_is_copied_as_a_number(texts):
    column = Column("ks_error", "KS calibration error", "")
    error = Estimate(0.0642, 0.0512, 0.0771, noise_floor=0.007)
    found = MethodMetrics("uncalibrated", "Uncalibrated", {"ks_error": error}, {})
    (made,) = metric_columns([column], {"uncalibrated": found}, {})
    cell = made.cells["uncalibrated"]
    texts("\n".join([cell.text, *cell.lines]))
    assert made.values["uncalibrated"].columns(made.name)["ks_error"] == 0.0642


@pytest.mark.parametrize(
    ("ends", "better", "evidence"),
    [
        ((-0.3, -0.1), "lower", "significantly lower"),
        ((0.1, 0.3), "higher", "significantly higher"),
        ((-0.3, -0.1), "higher", "significantly lower"),
        ((0.1, 0.3), "lower", "significantly higher"),
        ((-0.1, 0.1), "lower", "not significant"),
        ((0.0, 0.0), "higher", "no change"),
    ],
)
def test_a_change_has_its_direction_and_evidence(ends, better, evidence):
    said, is_worse = direction(Estimate(sum(ends) / 2, *ends), better)
    assert said == evidence
    assert is_worse == ("significantly" in said and better not in said)


def test_a_change_without_an_interval_is_not_significant():
    assert direction(Estimate(-0.1, math.nan, math.nan), "lower") == ("not significant", False)


def test_shares_of_a_matrix_are_per_cents_and_their_changes_points():
    digits = examples.EXAMPLES["digits"].load()
    results = analyze(digits, {"methods": ("vector",)}).multiclass.results
    shown = [Column(key, one.label, one.meaning) for key, one in matrix_metrics().items()]
    cells = {one.name: one.cells["vector"] for one in metric_columns(shown, results, {})}
    before, after = (one.metrics["accuracy"].value for one in results.values())
    assert cells["accuracy"].text == f"{100 * after:.1f}%"
    change = round(100 * after, 1) - round(100 * before, 1)
    difference = results["vector"].differences["accuracy"]
    low, high = (100 * end for end in (difference.low, difference.high))
    interval = f"{low:+.1f} to {high:+.1f}".replace("-", "−")
    assert cells["accuracy_diff"].text == f"{change:+.1f} points"
    assert cells["accuracy_diff"].lines[0] == interval
    assert re.fullmatch(r"\d\.\d%", cells["ece_classwise"].text)
    assert re.fullmatch(r"\d\.\d{4}", cells["log_loss"].text)


def test_printed_changes_are_the_differences_of_printed_losses():
    def four_digits(printed):
        return round(10_000 * float(printed.replace("−", "-")))

    analysis = analysed("naive_bayes")
    best = method_results.differences_from_best(analysis.held_out, analysis.ranked[0], 0.95)
    columns = metric_columns(analysis.columns, analysis.methods, best)
    cells_of = {column.name: column.cells for column in columns}
    loss, change, from_best = (
        cells_of[name] for name in ("log_loss", "log_loss_diff", "log_loss_to_best")
    )
    losses = {key: four_digits(cell.text) for key, cell in loss.items()}
    for key, cell in change.items():
        assert four_digits(cell.text) == losses[key] - losses["uncalibrated"]
    for key, cell in from_best.items():
        if cell.text not in ("best", "equal"):
            assert four_digits(cell.text) == losses[key] - min(losses.values())
    # The exact change would be printed as −0.1012.
    assert change["logistic"].text == "−0.1013"
