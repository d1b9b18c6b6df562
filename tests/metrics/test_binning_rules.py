"""Rules of binning against the published codes, and against rows.

published_values.json has what these codes returned: torchmetrics 1.8.2, netcal 1.4.0,
uncertainty-calibration 0.1.4 (which crfm-helm 0.5.16 calls), gpleiss/temperature_scaling and
hendrycks/outlier-exposure. Codes in single precision decided there by single precision which bin a
score belongs to, and added up in double precision, so that 1e-12 can be asked for.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.metrics import expected_calibration_error
from calib.metrics.binning_rules import CODES, RULES, SKIPS_LAST, SortedScores
from calib.numerics.poisson_binomial import NORMS
from tests.metrics import row_conventions

VALUES = json.loads(Path(__file__).with_name("published_values.json").read_text())
BY_LABEL = {code.label: code for code in CODES}
SEEDS = {"stated": (1, 430, 20), "grid": (2, 250, 100), "plain": (3, 1037, 0), "small": (4, 30, 0)}
NUMBERS = (1, 2, 7, 10, 15, 29)


def rows(name):
    """The data of the recorded values: stated confidences, a grid, and distinct scores."""
    seed, n, steps = SEEDS[name]
    rng = np.random.default_rng(seed)
    score = rng.integers(0, steps + 1, n) / steps if steps else rng.random(n)
    if name != "grid":
        score = score.astype(np.float32).astype(np.float64)
    return score, rng.random(n) < score**1.3


def sorted_scores(score, outcome):
    return SortedScores.of(BinaryView(outcome, score), ordered=True)


def value(label, scores, n_bins, norm):
    rule = RULES[BY_LABEL[label].rules[0]]
    return rule.errors(scores, [n_bins])[0, NORMS.index(norm)]


@pytest.mark.parametrize("name", VALUES)
def test_equal_to_what_the_published_codes_returned(name):
    score, outcome = rows(name)
    recorded = dict(VALUES[name])
    assert [score.sum(), outcome.sum()] == recorded.pop("sum"), "other random numbers"
    scores = sorted_scores(score, outcome)
    for key, expected in recorded.items():
        label, n_bins, norm = key.split("|")
        assert value(label, scores, int(n_bins), norm) == pytest.approx(expected, abs=1e-12), key


def test_every_code_is_compared():
    recorded = {key.split("|")[0] for values in VALUES.values() for key in values} - {"sum"}
    live = {"scikit-learn calibration_curve", "scikit-learn calibration_curve (quantile)"}
    assert recorded | live | {"Humanity's Last Exam"} == set(BY_LABEL)


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_equal_to_scikit_learn(name, strategy):
    score, outcome = rows(name)
    label = "scikit-learn calibration_curve" + (" (quantile)" if strategy == "quantile" else "")
    scores = sorted_scores(score, outcome)
    for n in (5, 10, 17):
        observed, predicted = calibration_curve(outcome, score, n_bins=n, strategy=strategy)
        gap = np.abs(observed - predicted)
        assert value(label, scores, n, "mean") == pytest.approx(gap.mean(), abs=1e-12)
        assert value(label, scores, n, "max") == pytest.approx(gap.max(), abs=1e-12)


@pytest.mark.parametrize("name", ["stated", "grid", "plain"])
def test_equal_to_humanitys_last_exam(name):
    """With ties, too: the code and this test sort the same rows by NumPy's default."""
    score, outcome = rows(name)
    expected = row_conventions.calibration_error_of_hle(score, outcome)
    found = value("Humanity's Last Exam", sorted_scores(score, outcome), 0, "l2")
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("key", row_conventions.BY_KEY)
def test_equal_to_bins_of_rows(key):
    for name in SEEDS:
        score, outcome = rows(name)
        errors = RULES[key].errors(sorted_scores(score, outcome), NUMBERS)
        for n, found in zip(NUMBERS, errors, strict=True):
            if np.isnan(found).all():
                assert len(score) < 100 or key == "distinct"
                continue
            bins = row_conventions.BY_KEY[key](score, n)
            expected = [row_conventions.error(score, outcome, bins, norm) for norm in NORMS]
            assert found == pytest.approx(expected, abs=1e-12), (name, n)


@pytest.mark.parametrize(("key", "strategy"), [("right", "uniform"), ("quantile", "quantile")])
def test_own_rules_are_those_of_the_metrics(key, strategy):
    rng = np.random.default_rng(5)
    score = rng.integers(0, 31, 400) / 30
    outcome, weight = rng.random(400) < score, rng.integers(1, 4, 400)
    for cells in (
        ScoreCells.from_arrays(outcome, score),
        ScoreCells.from_arrays(outcome, score, weight),
    ):
        for n in NUMBERS:
            found = RULES[key].errors(SortedScores(cells), [n])[0]
            for norm in ("l1", "l2", "max"):
                expected = expected_calibration_error(cells, n_bins=n, strategy=strategy, norm=norm)
                assert found[NORMS.index(norm)] == pytest.approx(expected, abs=1e-12)


def test_only_split_ties_depend_on_the_order_of_rows():
    score, outcome = rows("stated")
    order = np.random.default_rng(6).permutation(len(score))
    first, second = sorted_scores(score, outcome), sorted_scores(score[order], outcome[order])
    for rule in RULES.values():
        same = np.array_equal(
            rule.errors(first, NUMBERS), rule.errors(second, NUMBERS), equal_nan=True
        )
        # Bins of 100 rows may be the same in both orders, but not all rules that split ties.
        assert same or rule.sort, rule.key
    assert not np.array_equal(
        RULES["split"].errors(first, NUMBERS), RULES["split"].errors(second, NUMBERS)
    )


def test_counts_have_the_rules_that_split_no_ties():
    score, outcome = rows("stated")
    counted = SortedScores.of(BinaryView(outcome, score), ordered=False)
    for rule in RULES.values():
        errors = rule.errors(counted, [10])
        if rule.sort:
            assert np.isnan(errors).all(), rule.key
        else:
            expected = rule.errors(sorted_scores(score, outcome), [10])
            assert np.array_equal(errors, expected, equal_nan=True), rule.key


def test_few_rows_and_constant_scores():
    scores = sorted_scores(np.full(3, 0.5), np.array([True, False, True]))
    for rule in RULES.values():
        errors = rule.errors(scores, [10])[0]
        if rule.kind == "range" or rule.key in (*SKIPS_LAST, "hundreds"):
            assert np.isnan(errors).all(), rule.key
        elif rule.kind == "uniform":
            assert errors[:2] == pytest.approx([1 / 6, 1 / 6]), rule.key
