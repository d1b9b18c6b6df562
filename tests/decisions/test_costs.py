import math

import pytest

from calib.analysis.decisions import Costs


def test_at_the_threshold_both_acts_cost_the_same():
    costs = Costs(false_positive=3, false_negative=7)
    p = costs.threshold
    assert (1 - p) * costs.false_positive == pytest.approx(p * costs.false_negative, rel=1e-14)
    # A score of three tenths is flagged, whatever the rounding.
    assert p <= 3 / 10


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"false_positive": 0}, "false_positive must be positive and finite, got 0"),
        ({"false_negative": math.inf}, "false_negative must be positive and finite, got inf"),
        ({"false_negative": math.nan}, "got nan"),
        ({"capacity": 0.0}, "0 < capacity <= 1, got 0.0"),
        ({"capacity": 1.01}, "got 1.01"),
    ],
)
def test_refusals(more, reason):
    with pytest.raises(ValueError, match=reason):
        Costs(**more)
