"""Which convention gives a number: what is recognised, and what is said of it."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import calib
from calib.data.views import BinaryView
from calib.features.conventions.candidates import rules_of_thumb
from calib.features.conventions.result import Convention, TypedNumber, conventions_of
from calib.metrics.binning_rules import CODES, SortedScores
from tests.metrics import row_conventions
from tests.rare import common_first


def drawn(n=900, seed=0, steps=0, **columns):
    rng = np.random.default_rng(seed)
    score = rng.integers(0, steps + 1, n) / steps if steps else rng.random(n)
    outcome = rng.random(n) < score**1.5
    return calib.Predictions.from_arrays(outcome, score, **columns)


def stated(n, seed=0):
    """Stated confidences of a model that is far too sure."""
    rng = np.random.default_rng(seed)
    confidence = rng.choice([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0], n)
    return calib.Predictions.from_arrays(rng.random(n) < 0.3, confidence)


def conventions_in(matches):
    return {one for match in matches for one in match.conventions}


@pytest.mark.parametrize(
    ("given", "value", "decimals", "is_percent"),
    [
        ("0.174", 0.174, 3, False),
        (" .1740 ", 0.174, 4, False),
        (0.174, 0.174, 3, False),
        ("17.4%", 17.4, 1, True),
        ("0.9 %", 0.9, 1, True),
        (17.4, 17.4, 1, True),
        (17, 17.0, 0, True),
        (np.int64(17), 17.0, 0, True),
        ("1", 1.0, 0, False),
        ("1.74e-1", 0.174, 3, False),
        ("0", 0.0, 0, False),
    ],
)
def test_digits_and_unit_of_a_typed_number(given, value, decimals, is_percent):
    typed = TypedNumber.read(given)
    assert (typed.value, typed.decimals, typed.is_percent) == (value, decimals, is_percent)


@pytest.mark.parametrize(
    "given", ["", "abc", "-0.1", "0,174", "1e999", "nan", "9" * 40, "٣", -1.0, True, None, [1]]
)
def test_what_is_no_number_is_refused(given, texts):
    with texts.raises(ValueError):
        TypedNumber.read(given)


def test_the_last_digit_decides():
    values = np.array([0.1734, 0.1735, 0.17449, 0.1745, 0.17451, np.nan])
    assert TypedNumber.read("0.174").is_share(values).tolist() == [0, 1, 1, 1, 0, 0]
    assert TypedNumber.read("17.4%").is_share(values).tolist() == [0, 1, 1, 1, 0, 0]
    assert TypedNumber.read("0.1740").is_share(values).tolist() == [0] * 6
    assert not TypedNumber.read("17%").is_loss(np.array([17.0])).any()
    assert TypedNumber.read("17").is_loss(np.array([17.4])).all()


def test_numbers_of_single_precision_are_recognised():
    assert TypedNumber.read("0.17412345").is_share(np.array([0.1741235])).all()


@pytest.mark.parametrize("n", common_first([5, 8, 13, 40], [13]))
@pytest.mark.parametrize("norm", ["l1", "l2", "max", "mean"])
@pytest.mark.parametrize("key", ["right", "left", "percentile"])
def test_an_error_of_rows_is_found(key, norm, n):
    predictions = drawn(steps=40)
    score, outcome = predictions.scores, predictions.outcome == 1
    error = row_conventions.error(score, outcome, row_conventions.BY_KEY[key](score, n), norm)
    matches = calib.conventions(predictions, f"{error:.6f}")
    assert Convention("positive class", "", key, n, norm) in conventions_in(matches)


def test_the_most_common_convention_comes_first():
    predictions = drawn(steps=40)
    own = calib.metrics.expected_calibration_error(
        predictions.outcome, predictions.scores, n_bins=15, strategy="quantile"
    )
    first = calib.conventions(predictions, f"{own:.5f}")[0]
    assert first.differences == ()
    assert [first.value, first.ours] == pytest.approx([own, own], abs=1e-12)


def test_ours_stands_beside_with_the_bins_of_the_settings(texts):
    predictions = drawn()
    settings = calib.Settings(n_bins=8, strategy="uniform")
    ece = calib.metrics.expected_calibration_error
    other = ece(predictions.outcome, predictions.scores, n_bins=10, norm="l2")
    own = ece(predictions.outcome, predictions.scores, n_bins=8, norm="l2")
    result = calib.conventions(predictions, f"{other:.6f}", settings)
    assert result.own_bins == "8 uniform bins"
    assert result[0].ours == pytest.approx(own, abs=1e-12)
    texts.shown(result[0].differences)


def test_the_last_exam_leaves_out_its_last_bin(texts):
    """At 150 rows its only bin is the last one, so that it always prints 0."""
    predictions = stated(150)
    result = calib.conventions(predictions, "0.000")
    gap = abs(predictions.scores.mean() - predictions.outcome.mean())
    assert result[0].codes == ("Humanity's Last Exam", "Hendrycks et al. 2019")
    assert result[0].value == 0.0
    assert f"{gap:.4f}" in result[0].remark
    assert result[0].ours > 0.4
    texts.shown(result.sentence)
    assert result[0].remark in result.sentence


def test_the_last_exam_with_ties_depends_on_the_order_of_rows(texts):
    predictions = stated(500)
    error = row_conventions.calibration_error_of_hle(predictions.scores, predictions.outcome)
    result = calib.conventions(predictions, f"{error:.6f}")
    match = next(one for one in result if "Humanity's Last Exam" in one.codes)
    assert match.value == pytest.approx(error, abs=1e-12)
    texts.shown(match.remark)
    counted = calib.conventions(calib.aggregate(predictions), f"{error:.6f}")
    assert not any("Humanity's Last Exam" in one.codes for one in counted)
    texts.shown(counted.remarks)


def test_none_says_so_with_the_nearest():
    result = calib.conventions(drawn(), "0.9876543")
    assert (len(result), list(result), result.frame().shape[0]) == (0, [], 0)
    assert result.sentence.startswith(f"None of {result.n_tried:,} conventions gives 0.9876543")
    assert len(result.nearest) == 3
    distances = [abs(match.value - 0.9876543) for match in result.nearest]
    assert distances == sorted(distances)
    assert result.nearest[0].description in result.sentence


@pytest.mark.parametrize("given", [0.132, "13.2%", "13.2", 13.2])
def test_per_cent_and_share_are_the_same_number(given):
    predictions = calib.examples.EXAMPLES["naive_bayes"].load()
    result = calib.conventions(predictions, given)
    assert result[0].codes == ("scikit-learn calibration_curve", "netcal")
    read = given in ("13.2", 13.2)
    assert result.remarks == (("13.2 was read as 13.2%.",) if read else ())


def test_metrics_without_bins_are_recognised():
    predictions = drawn(steps=40)
    outcome, score = predictions.outcome, predictions.scores
    clipped = np.clip(score, 1e-15, 1 - 1e-15)
    loss = -np.mean(np.log(np.where(outcome == 1, clipped, 1 - clipped)))
    brier = np.mean((outcome - score) ** 2)
    numbers = {
        "Brier score": brier,
        "Log loss, scores clipped at 1e-15": loss,
        "KS error": calib.metrics.ks_error(outcome, score),
        "AUC": calib.metrics.auc(outcome, score),
        "Accuracy at a threshold of 0.5": np.mean((score > 0.5) == outcome),
    }
    for name, value in numbers.items():
        result = calib.conventions(predictions, f"{value:.6f}")
        assert name in [match.description for match in result]
        assert result[0].rank <= 1
    big = calib.Predictions.from_arrays([0, 1, 1, 0], [0.999, 0.001, 0.9, 0.5])
    assert calib.conventions(big, "3.65")[0].description == "Log loss"


def test_weights_are_used_and_ignored(texts):
    weight = np.random.default_rng(1).integers(1, 5, 900)
    predictions = drawn(sample_weight=weight)
    ece = calib.metrics.expected_calibration_error
    outcome, score = predictions.outcome, predictions.scores
    with_weights = ece(outcome, score, sample_weight=weight, n_bins=10)
    without = ece(outcome, score, n_bins=10)
    first = calib.conventions(predictions, f"{with_weights:.7f}")[0]
    assert "weights" not in first.description
    first = calib.conventions(predictions, f"{without:.7f}")[0]
    texts.shown(first.description)
    assert "with 10 uniform bins" in first.description
    assert "weights ignored" in first.differences
    assert "netcal" in first.codes


def test_only_test_rows_count():
    test = np.arange(900) % 3 == 0
    predictions = drawn(test=test)
    error = calib.metrics.expected_calibration_error(
        predictions.outcome[test], predictions.scores[test], n_bins=20
    )
    assert "with 20 uniform bins" in calib.conventions(predictions, f"{error:.7f}")[0].description


def matrix(n=600, seed=3):
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet([0.5, 0.6, 0.7], n)
    label = np.array([rng.choice(3, p=row) for row in scores])
    return calib.Predictions.from_arrays(label, scores)


def test_views_of_a_matrix(texts):
    predictions = matrix()
    scores, label = predictions.scores, predictions.outcome
    top, right = scores.max(axis=1), scores.argmax(axis=1) == label
    bins = row_conventions.left(top, 15)
    error = row_conventions.error(top, right, bins, "l1")
    first = calib.conventions(predictions, f"{error:.7f}")[0]
    texts.shown(first.description)
    assert {"torchmetrics", "Guo et al. 2017"} <= set(first.codes)
    classwise = np.mean(
        [
            row_conventions.error(
                scores[:, k], label == k, row_conventions.right(scores[:, k], 12), "max"
            )
            for k in range(3)
        ]
    )
    found = calib.conventions(predictions, f"{classwise:.7f}")
    texts.shown(found[0].description)
    second = calib.conventions(predictions, f"{error:.7f}", calib.Settings(view="class:1"))
    texts(second[0].differences[0])
    views = {"class:1": "class 1", "top:2": "the class ranked 2", "top:1": "the predicted class"}
    for view, words in (views | {"within:2": "the 2 classes ranked first"}).items():
        rows = predictions.view(view)
        gap = abs(rows.score.mean() - rows.outcome.mean())
        matches = calib.conventions(predictions, f"{gap:.7f}", calib.Settings(view=view))
        assert any(f"ECE of {words} with" in one.description for one in matches), view
    loss = -np.log(scores[np.arange(600), label]).mean()
    texts(calib.conventions(predictions, f"{loss:.6f}")[0].description)


def test_the_predicted_class_of_one_score():
    predictions = drawn()
    score, outcome = predictions.scores, predictions.outcome == 1
    top, right = np.maximum(score, 1 - score), (score > 0.5) == outcome
    error = row_conventions.error(top, right, row_conventions.right(top, 9), "l1")
    descriptions = [one.description for one in calib.conventions(predictions, f"{error:.7f}")]
    assert any(text.startswith("ECE of the predicted class with 9") for text in descriptions)


def test_clipped_scores():
    predictions = drawn()
    score, outcome = np.clip(predictions.scores, 0.01, 0.99), predictions.outcome == 1
    error = row_conventions.error(score, outcome, row_conventions.right(score, 11), "l1")
    matches = calib.conventions(predictions, f"{error:.7f}")
    treatment = "scores clipped to [0.01, 0.99]"
    assert Convention("positive class", treatment, "right", 11, "l1") in conventions_in(matches)
    assert any(one.description.endswith(treatment) for one in matches)


def test_the_documentation_lists_every_code():
    text = (Path(__file__).parents[1] / "docs" / "conventions.md").read_text(encoding="utf-8")
    assert [code.label for code in CODES if code.label not in text] == []


@pytest.mark.parametrize("n", [12, 33])
def test_debiased_errors_of_both_classes(n):
    predictions = drawn(steps=40)
    score, outcome = predictions.scores, predictions.outcome == 1
    error = np.mean(
        [
            row_conventions.error(s, y, row_conventions.left(s, n), "debiased")
            for s, y in ((1 - score, ~outcome), (score, outcome))
        ]
    )
    matches = calib.conventions(predictions, f"{error:.6f}")
    scores = "averaged over both classes"
    assert Convention(scores, "", "left", n, "debiased") in conventions_in(matches)


def test_rules_of_thumb_are_those_of_numpy():
    score = np.random.default_rng(4).beta(2.0, 5.0, 777)
    names = rules_of_thumb(SortedScores.of(BinaryView(score > 0.5, score), ordered=True))
    numbers = {name: n for n, several in names.items() for name in several}
    rules = {"fd": "Freedman-Diaconis", "doane": "Doane", "scott": "Scott", "sturges": "Sturges"}
    for key, name in {**rules, "rice": "Rice"}.items():
        width = np.histogram_bin_edges(score, key)
        # NumPy takes the formulas as widths over the range of the scores.
        assert numbers[name] == len(width) - 1, name
    assert {math.floor(math.sqrt(777)), math.ceil(math.sqrt(777))} == {
        n for n, several in names.items() if "square root" in several
    }


@pytest.mark.parametrize(
    ("outcome", "score"),
    [
        ([0, 1, 0], [0.5, 0.5, 0.5]),
        ([1, 1, 1], [0.2, 0.5, 0.9]),
        ([0], [0.0]),
        ([0, 1], [0.0, 1.0]),
    ],
)
def test_small_and_degenerate_data(outcome, score):
    predictions = calib.Predictions.from_arrays(outcome, score)
    for number in ("0", "0.5", "0.123456789", "99%"):
        result = calib.conventions(predictions, number)
        assert result.sentence
        assert all(np.isfinite(match.value) for match in result)


def test_the_frame_has_a_row_per_match():
    result = calib.conventions(drawn(), "0.1")
    frame = result.frame()
    assert len(frame) == len(result) > 1
    assert isinstance(frame, pd.DataFrame)
    assert frame["value"].tolist() == [match.value for match in result]
    assert result[0].frame()["description"].tolist() == [result[0].description]
    assert result[:2] == result.matches[:2]


def test_methods_of_an_analysis(texts):
    predictions = drawn(steps=40)
    analysis = calib.analyze(predictions, {"methods": ("platt",)})
    held_out, settings = analysis.held_out, analysis.settings
    before = conventions_of(held_out, "uncalibrated", settings, "0.1")
    assert before.frame().equals(calib.conventions(predictions, "0.1").frame())
    ece = analysis.table().loc["platt", "ece_quantile"]
    after = conventions_of(held_out, "platt", settings, f"{ece:.7f}")
    assert [after[0].ours, after[0].value] == pytest.approx([ece, ece], abs=1e-12)
    texts.shown(after.remarks)


def test_counts_give_what_rows_give():
    predictions = drawn(steps=40)
    of_rows, of_counts = (
        calib.conventions(data, "0.12").frame()
        for data in (predictions, calib.aggregate(predictions))
    )
    known = of_rows["description"].isin(of_counts["description"])
    assert known.sum() > 3
    merged = of_rows[known].merge(of_counts, on="description")
    assert np.allclose(merged["value_x"], merged["value_y"], rtol=0, atol=1e-12)


def test_an_unknown_view_is_refused(texts):
    with texts.raises(ValueError):
        calib.conventions(drawn(), "0.1", calib.Settings(view="class:7"))


def test_a_number_that_chance_explains_is_not_explained_by_a_convention(texts):
    rng = np.random.default_rng(808)
    z = rng.normal(-0.5, 1.5, 500)
    predictions = calib.Predictions.from_arrays(rng.random(500) < expit(0.6 * z), expit(z))
    result = calib.conventions(predictions, "0.073")
    # By hand: values near 0.073 by their distance in half units, of which 1 is the match.
    assert result.n_by_chance == pytest.approx(14.4, abs=0.1)
    assert len(result) == 14
    assert " is the " not in result.sentence.partition(". ")[0]
    texts(result.sentence)
    ece = calib.metrics.expected_calibration_error(predictions.outcome, predictions.scores)
    own = calib.conventions(predictions, f"{ece:.8f}")
    assert own.n_by_chance < 0.1
    texts.shown(own.sentence, "words")


def test_chance_is_the_mean_number_of_matches_of_numbers_nearby():
    predictions = drawn(300, seed=4)
    result = calib.conventions(predictions, "0.150")
    found = [len(calib.conventions(predictions, f"0.{n}")) for n in range(130, 171, 4)]
    # Matches vary by chance, and 11 of the 41 numbers are tried.
    assert result.n_by_chance == pytest.approx(np.mean(found), rel=0.35)


@pytest.mark.parametrize(
    ("text", "share"), [("0.500", 1 / 19), ("0.000", 1 / 19), ("0.001", 1 / 10)]
)
def test_no_value_near_a_number_is_below_0(text, share):
    assert TypedNumber.read(text).near_share == pytest.approx(share, rel=1e-6)
