"""Probabilities and their differences are in per cent and points."""

import numpy as np

import calib
from calib.blocks.decisions import certified
from calib.blocks.kinds import Table
from calib.figures.axes import PERCENT_TICKS
from calib.figures.periods import period_chart
from tests.figures.drawn import periods


def test_rates_and_errors_over_time_are_in_per_cent(analysis, trace):
    figure = period_chart(periods(analysis)).figure
    formats = [figure.layout[axis].tickformat for axis in ("yaxis", "yaxis2", "yaxis3", "yaxis4")]
    assert formats == [PERCENT_TICKS, "~g", "~g", PERCENT_TICKS]
    for key in ("base_rate observed", "ks uncalibrated"):
        assert "%" in trace(figure, key).hovertext[0]
    assert "%" not in trace(figure, "slope uncalibrated").hovertext[0]


def test_a_certificate_has_its_threshold_in_per_cent(texts):
    score = np.linspace(0.5, 1.0, 2000)
    correct = np.random.default_rng(0).random(2000) < score
    certificate = calib.certify(calib.Predictions.from_arrays(correct, score), 0.1)
    threshold = certificate.above.threshold
    (table,) = (block for block in certified(certificate) if isinstance(block, Table))
    shown = table.rows[0][1].text
    assert shown.startswith("≥ ")
    assert shown.endswith("%")
    assert shown[2:-1] == f"{100.0 * threshold:.15g}"
    title = calib.plot.certified_error(certificate).layout.annotations[-2].text
    texts.shown(title)
