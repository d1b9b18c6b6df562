"""Curves over epsilon: what was computed before a person moved on is not computed again."""

import numpy as np
import pytest

from calib.analysis import analyze
from calib.crossfit.epsilon import EPSILONS
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.ui.pages.calibrators import curves as functions
from calib.ui.session.session import Session


class MovedOn(Exception):
    """What Streamlit raises in a script whose page was changed."""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(11)
    score = rng.random(200)
    return Predictions.from_arrays(rng.random(200) < score**2, score)


@pytest.fixture(scope="module")
def analysis(rows):
    return analyze(rows, Settings(methods=("platt", "ispline"), n_folds=2))


def test_an_interrupted_curve_goes_on_where_it_stopped(analysis):
    session, told = Session(), []

    def move_on(share, _text):
        if share >= 0.5:
            raise MovedOn

    with pytest.raises(MovedOn):
        functions.curve(session, analysis, "ispline", move_on)
    curve = functions.curve(session, analysis, "ispline", lambda share, _: told.append(share))
    assert told[0] == pytest.approx(0.5)
    assert told == sorted(told)
    assert len(curve.epsilon) == len(EPSILONS)
    again = functions.curve(Session(), analysis, "ispline", move_on)
    np.testing.assert_array_equal(again.log_loss, curve.log_loss)


def test_another_seed_makes_other_folds(rows, analysis):
    other = analyze(rows, Settings(methods=("ispline",), n_folds=2, seed=1))
    quiet = lambda *_: None  # noqa: E731
    one = functions.curve(Session(), analysis, "ispline", quiet)
    two = functions.curve(Session(), other, "ispline", quiet)
    assert not np.array_equal(one.log_loss, two.log_loss)


def test_maps_by_the_rule_are_made_only_where_another_epsilon_is_in_use(rows, analysis):
    session = Session()
    assert functions.automatic_calibrators(session, analysis) == {}
    chosen = analyze(rows, Settings(methods=("platt", "ispline"), n_folds=2, epsilon=0.2))
    calibrators = functions.automatic_calibrators(session, chosen)
    assert set(calibrators) == {"ispline"}
    np.testing.assert_array_equal(
        calibrators["ispline"].calibrated, analysis.methods["ispline"].function.calibrated
    )
    assert functions.automatic_calibrators(session, chosen) is calibrators
