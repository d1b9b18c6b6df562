import dataclasses
import math

import pytest

from calib.calibrators import CALIBRATORS
from calib.figures.functions import difference_chart
from calib.numerics.intervals import Estimate


@pytest.mark.parametrize("metric", ["log_loss", "brier_score"])
def test_rows_are_differences_with_their_intervals(analysis, trace, metric):
    figure = difference_chart(analysis, metric).figure
    for row, key in enumerate(ranked(analysis)):
        estimate, dot = (
            analysis.methods[key].differences[metric],
            trace(figure, f"difference {key}"),
        )
        assert (list(dot.x), list(dot.y)) == ([estimate.value], [row])
        assert dot.x[0] + dot.error_x.array[0] == pytest.approx(estimate.high, abs=1e-15)
        assert dot.x[0] - dot.error_x.arrayminus[0] == pytest.approx(estimate.low, abs=1e-15)


def ranked(analysis) -> list[str]:
    """The calibrators by log loss, the lowest first."""
    loss = analysis.table()["log_loss"].drop("uncalibrated")
    return list(loss.sort_values().index)


def test_the_lowest_log_loss_is_at_the_top(analysis):
    axis = difference_chart(analysis).figure.layout.yaxis
    labels = [CALIBRATORS[key].label for key in ranked(analysis)]
    assert list(axis.ticktext) == labels
    assert axis.range[0] > axis.range[1]


def test_zero_and_all_intervals_are_in_view(analysis, trace):
    figure = difference_chart(analysis).figure
    low, high = figure.layout.xaxis.range
    ends = [
        end
        for key in ("platt", "isotonic", "beta")
        for end in dataclasses.astuple(analysis.methods[key].differences["log_loss"])
    ]
    assert low < min(0.0, *ends)
    assert max(0.0, *ends) < high
    assert set(trace(figure, "zero").x) == {0.0}


def test_an_interval_that_dwarfs_all_others_leaves_the_panel(analysis):
    wide = dataclasses.replace(
        analysis.methods["isotonic"], differences={"log_loss": Estimate(3.0, -1.0, 30.0)}
    )
    methods = {**analysis.methods, "isotonic": wide}
    low, high = (
        difference_chart(dataclasses.replace(analysis, methods=methods))
        .figure.layout["xaxis"]
        .range
    )
    others = [
        end
        for key in ("platt", "beta")
        for end in dataclasses.astuple(analysis.methods[key].differences["log_loss"])
    ]
    assert low < min(0.0, *others)
    assert max(0.0, *others) < high
    # A panel with the whole interval would be thirty wide.
    assert high - low < 2.0


def test_unknown_interval_is_not_drawn_and_not_claimed(analysis, trace):
    lone = dataclasses.replace(analysis.methods["platt"], differences={"log_loss": Estimate(-0.1)})
    methods = {"uncalibrated": analysis.uncalibrated, "platt": lone}
    figure = difference_chart(dataclasses.replace(analysis, methods=methods)).figure
    dot = trace(figure, "difference platt")
    assert math.isnan(dot.error_x.array[0])
    assert "nan" not in dot.hovertemplate
    assert figure.layout.xaxis.range[0] < -0.1


def test_only_uncalibrated_scores_still_give_a_chart(analysis):
    methods = {"uncalibrated": analysis.uncalibrated}
    assert difference_chart(dataclasses.replace(analysis, methods=methods)).height > 0


def test_unknown_metric_is_refused(analysis, texts):
    with texts.raises(ValueError):
        difference_chart(analysis, "auc")
