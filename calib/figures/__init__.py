"""Figures: an Analysis as plotly figures. They read it and never compute."""

from calib.figures.before_after import before_after_chart, before_after_panel
from calib.figures.chart import Chart, for_report
from calib.figures.checkpoints import checkpoint_chart
from calib.figures.clipping import clipping_chart
from calib.figures.compact_logit import compact_logit_chart
from calib.figures.cumulative import cumulative_chart
from calib.figures.cumulative_difference import cumulative_difference_chart
from calib.figures.decisions import cost_chart, net_benefit_chart
from calib.figures.differences import difference_chart, matrix_difference_chart
from calib.figures.epsilon import epsilon_chart
from calib.figures.functions import functions_chart
from calib.figures.lambda_path import lambda_path_chart, with_path
from calib.figures.overlay import overlay_chart
from calib.figures.periods import period_chart
from calib.figures.reliability import reliability_chart
from calib.figures.sensitivity import sensitivity_chart
from calib.figures.slices import slice_chart, slice_reliability_chart
from calib.figures.theme import CONFIG, METHOD_STYLES

__all__ = [
    "CONFIG",
    "METHOD_STYLES",
    "Chart",
    "before_after_chart",
    "before_after_panel",
    "checkpoint_chart",
    "clipping_chart",
    "compact_logit_chart",
    "cost_chart",
    "cumulative_chart",
    "cumulative_difference_chart",
    "difference_chart",
    "epsilon_chart",
    "for_report",
    "functions_chart",
    "lambda_path_chart",
    "matrix_difference_chart",
    "net_benefit_chart",
    "overlay_chart",
    "period_chart",
    "reliability_chart",
    "sensitivity_chart",
    "slice_chart",
    "slice_reliability_chart",
    "with_path",
]
