"""The answer of the Overview: what its table of calibrators says."""

import re
from html import escape

import calib
from calib.calibrators import CALIBRATORS
from calib.figures.answer import calibrators_table, summary
from calib.figures.summary import summary_chart
from calib.figures.words import without_band
from tests.figures.conftest import overconfident


def test_every_calibrator_has_its_whole_name():
    analysis = calib.analyze(
        calib.examples.EXAMPLES["naive_bayes"].load(), {"methods": ("platt", "beta", "stack")}
    )
    heads = re.findall(r'<th scope="row">(.*?)</th>', calibrators_table(analysis))
    names = {re.sub("<[^>]*>", "", head) for head in heads}
    assert names == {CALIBRATORS[key].name for key in ("platt", "beta", "stack")}


def test_a_band_that_shows_too_little_is_a_sentence():
    for small in (overconfident(28, n_bins=2), overconfident(60, n_bins=20)):
        reason = without_band(small.uncalibrated.reliability)
        assert reason
        assert "band" not in [layer.key for layer in summary_chart(small).layers]
        assert "of the dots" not in summary(small)
        assert escape(reason) in summary(small)
    enough = overconfident(600)
    assert "band" in [layer.key for layer in summary_chart(enough).layers]
    assert "of the dots" in summary(enough)
    assert "No band" not in summary(enough)
