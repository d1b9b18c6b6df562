"""The answer of the Overview: what its table of calibrators says."""

import re

import calib
from calib.calibrators import CALIBRATORS
from calib.figures.answer import calibrators_table


def test_every_calibrator_has_its_whole_name():
    analysis = calib.analyze(
        calib.examples.EXAMPLES["naive_bayes"].load(), {"methods": ("platt", "beta", "stack")}
    )
    heads = re.findall(r'<th scope="row">(.*?)</th>', calibrators_table(analysis))
    names = {re.sub("<[^>]*>", "", head) for head in heads}
    assert names == {CALIBRATORS[key].name for key in ("platt", "beta", "stack")}
