import numpy as np
import pytest

from calib.analysis import analyze
from calib.crossfit.settings import MIN_LEVEL_MARGIN, Settings
from calib.data.predictions import Predictions


@pytest.mark.parametrize(
    "changes",
    [
        {"n_bins": 101},
        {"n_folds": 1},
        {"strategy": "fd"},
        {"band": "both"},
        {"epsilon": 0.5},
        {"confidence_level": 1.0},
        {"seed": -1},
        {"seed": 2**32},
        {"epsilon": 1e-300},
        {"methods": ("plat",)},
        {"epsilon_rule": "lucena"},
        {"confidence_level": 1.0 - 1e-16},
        {"confidence_level": 1e-300},
    ],
)
def test_a_value_out_of_range_is_refused(changes, texts):
    with texts.raises(ValueError):
        Settings(**changes)


@pytest.mark.parametrize("level", [MIN_LEVEL_MARGIN, 1.0 - MIN_LEVEL_MARGIN])
def test_the_extreme_levels_have_finite_intervals(level):
    rng = np.random.default_rng(0)
    score = rng.random(300)
    rows = Predictions.from_arrays(rng.random(300) < score, score)
    settings = Settings(methods=("platt",), confidence_level=level, band="simultaneous")
    table = analyze(rows, settings).table().select_dtypes("number")
    assert np.isfinite(table.loc["platt"].to_numpy(dtype=float)).all()


@pytest.mark.parametrize("changes", [{"seed": 1.5}, {"n_bins": 15.5}, {"n_folds": "5"}])
def test_what_counts_must_be_whole(changes, texts):
    with texts.raises(TypeError):
        Settings(**changes)


def test_uncalibrated_is_always_first_and_no_method_comes_twice():
    assert Settings(methods=("beta", "uncalibrated", "beta")).methods == ("uncalibrated", "beta")


def test_drawing_settings_do_not_touch_the_fitting():
    drawn = Settings(n_bins=7, strategy="uniform", confidence_level=0.9)
    assert drawn.fitting() == Settings()
    assert Settings(band="simultaneous").fitting() == Settings()
    assert Settings(epsilon=0.01).fitting() != Settings()
    assert Settings(epsilon_rule="published").fitting() != Settings()
    assert drawn.changed() == {"n_bins": 7, "strategy": "uniform", "confidence_level": 0.9}
