import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from calib.analysis.slices import Slicing, slice_by, slice_error_rates
from calib.data.predictions import Predictions
from calib.numerics.intervals import wilson_interval
from calib.words.slices import widest_rate


def test_rates_are_those_of_the_confusion_matrix():
    rng = np.random.default_rng(0)
    score, weight = rng.random(500), rng.uniform(0.5, 2, 500)
    codes = rng.integers(0, 3, 500)
    view = Predictions.from_arrays(rng.random(500) < score, score, weight).view()
    flagged = score >= 0.4
    rates = slice_error_rates(view, flagged * 1.0, Slicing(("a",), tuple("xyz"), codes))
    for i in range(3):
        member = codes == i
        (tn, fp), (fn, tp) = confusion_matrix(
            view.outcome[member], flagged[member], sample_weight=weight[member]
        )
        assert rates.false_positive[i] == pytest.approx(fp / (fp + tn), abs=1e-14)
        assert rates.false_negative[i] == pytest.approx(fn / (fn + tp), abs=1e-14)
        assert rates.flagged[i] == pytest.approx((tp + fp) / weight[member].sum(), abs=1e-14)


def test_a_slice_without_rows_is_left_out():
    view = Predictions.from_arrays([0, 1, 0, 1], [0.9, 0.1, 0.2, 0.7]).view()
    codes = np.array([0, 0, 2, 2])
    rates = slice_error_rates(view, np.ones(4), Slicing(("a",), ("x", "y", "z"), codes))
    assert rates.names == ("x", "z")
    assert rates.false_positive.tolist() == [1.0, 1.0]


def test_intervals_are_wilsons_on_the_rows_that_can_err():
    view = Predictions.from_arrays([0] * 40 + [1] * 10, [0.9] * 10 + [0.1] * 40).view()
    rates = slice_error_rates(view, (view.score >= 0.5) * 1.0, Slicing.whole(50))
    low, high = wilson_interval(np.array([0.25]), np.array([40.0]), 0.95)
    assert (rates.false_positive_low[0], rates.false_positive_high[0]) == (low[0], high[0])
    assert (rates.negatives[0], rates.positives[0]) == (40, 10)


def test_a_slice_of_one_class_has_no_rate_for_the_other():
    view = Predictions.from_arrays([0, 0, 1], [0.9, 0.1, 0.5]).view()
    rates = slice_error_rates(
        view, np.array([1.0, 0.0, 1.0]), slice_by({"a": np.array(["x", "x", "y"])}, ["a"])
    )
    assert rates.false_positive[0] == 0.5
    for name in ("", "_low", "_high"):
        assert np.isnan(getattr(rates, f"false_negative{name}")[0])
        assert np.isnan(getattr(rates, f"false_positive{name}")[1])


def test_copies_that_are_named_as_clusters_carry_no_more_evidence():
    rng = np.random.default_rng(0)
    score, five = rng.random(900), np.repeat(np.arange(900), 5)
    outcome, codes = rng.random(900) < score, np.arange(900) % 3
    cut = Slicing(("x",), ("a", "b", "c"), codes)
    copied = Slicing(("x",), ("a", "b", "c"), codes[five])
    single = Predictions.from_arrays(outcome, score).view()
    rows = Predictions.from_arrays(outcome[five], score[five], group=five).view()
    one = slice_error_rates(single, (score > 0.4) * 1.0, cut)
    by_cluster = slice_error_rates(rows, (rows.score > 0.4) * 1.0, copied)
    for name in ("false_positive", "false_negative"):
        low, high = (
            np.array([getattr(of, f"{name}_{end}") for of in (one, by_cluster)])
            for end in ("low", "high")
        )
        np.testing.assert_allclose((high - low)[1], (high - low)[0], rtol=0.03)


def test_the_widest_difference_is_between_slices_of_enough_rows():
    codes = np.repeat([0, 1, 2, 3], [100, 100, 100, 10])
    outcome = np.tile([0, 1], 155)
    flagged = np.zeros(310)
    # There are 50 negatives; 10, 30 and 20 are flagged, and all five of the last slice.
    for slice_number, n in ((0, 10), (1, 30), (2, 20), (3, 5)):
        flagged[np.flatnonzero((codes == slice_number) & (outcome == 0))[:n]] = 1.0
    # There are 50 positives; 40, 45 and 50 are flagged.
    for slice_number, n in ((0, 40), (1, 45), (2, 50)):
        flagged[np.flatnonzero((codes == slice_number) & (outcome == 1))[:n]] = 1.0
    rows = Predictions.from_arrays(outcome, np.full(310, 0.5)).view()
    cut = Slicing(("site",), ("a", "b", "c", "tiny"), codes)
    rates = slice_error_rates(rows, flagged, cut)
    assert rates.widest() == ("false_positive", 1, 0)
    sentence = widest_rate(rates, ["site"])
    wanted = "Largest difference: false-positive rate 60.0% for site b, 20.0% for site a."
    assert sentence == wanted
    assert slice_error_rates(rows, flagged, Slicing.whole(310)).widest() is None


def test_a_difference_whose_intervals_overlap_may_be_chance(texts):
    rng = np.random.default_rng(0)
    rows = Predictions.from_arrays(rng.random(400) < 0.5, np.full(400, 0.5)).view()
    cut = Slicing(("site",), ("a", "b"), rng.integers(0, 2, 400))
    rates = slice_error_rates(rows, (rng.random(400) < 0.5) * 1.0, cut)
    texts.shown(widest_rate(rates, ["site"]))
