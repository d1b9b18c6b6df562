"""Prior shift against Bayes' rule."""

import numpy as np
import pytest

from calib.calibrators.prior_shift import PriorShift


def test_undoes_the_weight_of_a_class():
    # A model that saw positives three times as often has three times the odds.
    truth = np.array([0.1, 0.5, 0.9])
    odds = 3 * truth / (1 - truth)
    fitted = PriorShift(r=3.0).fit([0.2, 0.8], [0, 1])
    assert fitted.predict(odds / (1 + odds)) == pytest.approx(truth)


def test_factor_from_a_stated_base_rate():
    # The odds are 1 : 3 in the rows and 1 : 99 in truth.
    fitted = PriorShift(base_rate=0.01).fit([0.2, 0.3, 0.4, 0.8], [0, 0, 0, 1])
    assert fitted.r_ == pytest.approx(33.0)


def test_default_is_the_identity():
    assert PriorShift().fit([0.2, 0.8], [0, 1]).predict([0.0, 0.3, 1.0]).tolist() == [0.0, 0.3, 1.0]


@pytest.mark.parametrize("parameters", [{"r": 0.0}, {"r": np.inf}, {"base_rate": 1.0}])
def test_refuses_parameters(parameters, texts):
    with texts.raises(ValueError):
        PriorShift(**parameters).fit([0.2, 0.8], [0, 1])


def test_base_rate_needs_both_classes(texts):
    with texts.raises(ValueError):
        PriorShift(base_rate=0.1).fit([0.2, 0.8], [1, 1])


def test_a_factor_of_1_is_not_written(texts):
    texts(PriorShift().fit([0.2, 0.8], [0, 1]).formula())
