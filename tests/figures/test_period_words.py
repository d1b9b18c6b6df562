"""When calibration changed, in a sentence."""

import math

import numpy as np
import pytest

from calib.analysis.periods import PeriodChange
from calib.words.periods import sentence

MONTHS = ("2025-06", "2025-07", "2025-08", "2025-09")


def change(wrong, observed=0.332, p_value=0.0005, names=MONTHS):
    flags = np.array([letter == "x" for letter in wrong])
    return PeriodChange(names, flags, 0.26, observed, 0.277, 0.276, p_value)


@pytest.mark.parametrize(
    ("wrong", "observed", "said"),
    [
        ("...x", 0.332, "Since September 2025 predictions are too low: 26.0% predicted, 33.2%"),
        (
            "xx..",
            0.1,
            "Until July 2025 predictions were too high: 26.0% predicted, 10.0%",
        ),
        (".xx.", 0.332, "From July 2025 to August 2025 predictions were too low: 26.0% predicted"),
        (".x..", 0.332, "In July 2025 predictions were too low: 26.0% predicted, 33.2% observed; "),
        ("x..x", 0.332, "Except from July 2025 to August 2025, predictions are too low: 26.0%"),
        ("xx.x", 0.332, "Except in August 2025, predictions are too low: 26.0% predicted, 33.2%"),
    ],
)
def test_the_wrong_periods_are_named(wrong, observed, said):
    told = sentence(change(wrong, observed), "month")
    assert told.startswith(said)
    assert told.endswith(" 27.7%, 27.6% (p < 0.001).")


def test_the_other_periods_are_named_by_where_they_are():
    for wrong, other in (("..xx", "before"), ("x...", "since then"), (".x..", "other periods")):
        assert f"{other} 27.7%" in sentence(change(wrong), "month")


def test_chance_and_too_few_rows_are_no_change(texts):
    texts(sentence(change("...x", p_value=0.43), "month"))
    texts.shown(sentence(change("....", p_value=math.nan), "month"))


def test_other_units_keep_their_names(texts):
    weeks = ("week of 2025-09-01", "week of 2025-09-08")
    texts.shown(sentence(change(".x", names=weeks), "week"))
    assert sentence(change(".x", names=("2024", "2025")), "value").startswith("Since 2025 ")
