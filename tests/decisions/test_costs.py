import math

import pytest

from calib.analysis.decisions import Costs


def test_at_the_threshold_both_acts_cost_the_same():
    costs = Costs(false_positive=3, false_negative=7)
    p = costs.threshold
    assert (1 - p) * costs.false_positive == pytest.approx(p * costs.false_negative, rel=1e-14)
    # A score of three tenths is flagged, however it is rounded.
    assert p <= 3 / 10


@pytest.mark.parametrize(
    "more",
    [
        {"false_positive": 0},
        {"false_negative": math.inf},
        {"false_negative": math.nan},
        {"capacity": 0.0},
        {"capacity": 1.01},
    ],
)
def test_refusals(more, texts):
    with texts.raises(ValueError):
        Costs(**more)
