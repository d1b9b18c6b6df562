"""Certified thresholds of whole data: sides, ties, clusters, counts, and what is refused."""

import numpy as np
import pytest
from scipy.stats import beta, binom

import calib
from calib.analysis.decisions import certify
from calib.analysis.decisions.certificate import certify_rows
from calib.data.predictions import Predictions


def confidences(n=1000, seed=0, **more) -> Predictions:
    rng = np.random.default_rng(seed)
    score = rng.beta(6, 1, n)
    return Predictions.from_arrays(rng.random(n) < score, score, **more)


def two_sided(n=2000, seed=0) -> Predictions:
    rng = np.random.default_rng(seed)
    score = rng.beta(0.2, 0.2, n)
    return Predictions.from_arrays(rng.random(n) < score, score)


def expected_range(score, outcome, limit, alpha, first):
    """Lowest accepted score by a loop over the distinct scores, from the highest; None if none.

    A twentieth of the level waits at half of the rows.
    """
    lowest, level, waiting = None, 0.95 * alpha, 0.05 * alpha
    for threshold in np.unique(score)[::-1]:
        accepted = score >= threshold
        if accepted.sum() < first:
            continue
        if waiting and accepted.sum() >= len(score) // 2:
            level, waiting = level + waiting, 0.0
        if binom.cdf((accepted & (outcome == 0)).sum(), accepted.sum(), limit) > level:
            level = 0.0
        else:
            lowest = threshold
    return lowest


@pytest.mark.parametrize("digits", [1, 2, 8])
def test_the_threshold_is_that_of_the_fixed_sequence(digits):
    rows = confidences(seed=digits)
    score = rows.scores.round(digits)
    made = certify(Predictions.from_arrays(rows.outcome, score), 0.1)
    # 62 rows pass with two errors at 95% of the level.
    lowest = expected_range(score, rows.outcome, 0.1, 0.05, 62)
    assert made.threshold <= lowest
    accepted = score >= made.threshold
    np.testing.assert_array_equal(accepted, score >= lowest)
    assert made.share == accepted.mean()
    assert made.above.n_errors == (accepted & (rows.outcome == 0)).sum()
    assert (made.above.first_rows, made.rows_needed) >= (62, 29)
    # The threshold is a number between two scores, so that rounding moves no row.
    assert made.threshold not in score
    assert score[score < made.threshold].max() < made.threshold < lowest


def test_two_sides_are_each_tested_at_half_of_the_level(texts):
    rows = two_sided()
    made = certify(rows, 0.1, sides="both")
    first = 71
    assert binom.cdf(2, first, 0.1) <= 0.95 * 0.025 < binom.cdf(2, first - 1, 0.1)
    accept = expected_range(rows.scores, rows.outcome, 0.1, 0.025, first)
    reject = -expected_range(-rows.scores, 1 - rows.outcome, 0.1, 0.025, first)
    above, below = rows.scores >= accept, rows.scores <= reject
    np.testing.assert_array_equal(rows.scores >= made.threshold, above)
    np.testing.assert_array_equal(rows.scores <= made.lower_threshold, below)
    assert (made.above.n_rows, made.below.n_rows) == (above.sum(), below.sum())
    assert made.share == (above | below).mean()
    assert made.below.n_errors == rows.outcome[below].sum()
    assert made.sentence.startswith(f"Accept above {100 * made.threshold:.15g}%, reject below")
    texts.shown(made.sentence)


def test_no_row_is_both_accepted_and_rejected(texts):
    """Each side alone could decide more than half of separated rows."""
    rng = np.random.default_rng(0)
    outcome = np.repeat([0, 1], 500)
    score = 0.2 + 0.5 * outcome + 0.1 * rng.random(1000)
    made = certify(Predictions.from_arrays(outcome, score), 0.1, sides="both")
    assert certify(Predictions.from_arrays(outcome, score), 0.1).above.n_rows > 500
    assert made.threshold == made.lower_threshold == 0.5
    assert (made.above.n_rows, made.below.n_rows) == (500, 500)
    assert (made.above.n_errors, made.below.n_errors, made.share) == (0, 0, 1.0)
    texts.shown(made.sentence)


def test_too_few_rows_say_how_many_are_needed(texts):
    made = certify(Predictions.from_arrays(np.ones(31), np.full(31, 0.9)))
    texts(made.sentence)
    assert (made.threshold, made.share, made.rows_needed) == (None, 0.0, 59)
    one = certify(Predictions.from_arrays([1], [0.9]))
    texts(one.sentence)


def test_too_many_errors_say_how_many_there_may_be():
    rng = np.random.default_rng(3)
    made = certify(Predictions.from_arrays(rng.random(1000) < 0.5, rng.random(1000)))
    early, late = made.above.first_tests
    assert (early.n_rows, late.n_rows, made.threshold) == (126, 500, None)
    for test, level in ((early, 0.0475), (late, 0.0025)):
        passes = binom.cdf(test.most_errors + np.arange(2), test.n_rows, 0.05) <= level
        assert list(passes) == [True, False]
    assert all(fact in made.sentence for fact in (str(early.n_errors), str(late.n_errors)))


def test_half_of_the_rows_may_pass_where_the_surest_rows_do_not():
    score = np.linspace(1.0, 0.0, 1001)[:-1]
    outcome = np.ones(1000, dtype=int)
    outcome[np.arange(0, 200, 8)] = 0
    made = certify(Predictions.from_arrays(outcome, score), 0.1)
    early, late = made.above.first_tests
    assert (early.n_rows, early.n_errors, late.n_rows, late.n_errors) == (62, 8, 500, 25)
    assert early.n_errors > early.most_errors
    assert (made.share, made.above.first_rows) == (1.0, 500)


def test_59_rows_of_one_score_and_outcome_are_all_decided(texts):
    made = certify(Predictions.from_arrays(np.ones(59), np.full(59, 0.9)))
    assert (made.threshold, made.share) == (0.0, 1.0)
    texts(made.sentence)
    assert certify(Predictions.from_arrays(np.ones(58), np.full(58, 0.9))).threshold is None


def test_the_sentence_has_the_threshold_the_share_and_both_limits():
    made = certify(confidences(5000), 0.1, 0.9)
    assert all(
        fact in made.sentence
        for fact in (f"{100 * made.threshold:.15g}%", f"{100 * made.share:.0f}%")
    )


def test_the_order_of_the_rows_does_not_matter():
    rows = confidences(group=np.arange(1000) // 2)
    order = np.random.default_rng(1).permutation(1000)
    mixed = Predictions.from_arrays(
        rows.outcome[order], rows.scores[order], group=np.arange(1000)[order] // 2
    )
    one, other = (certify(data, 0.1, seed=3) for data in (rows, mixed))
    assert one.sentence == other.sentence
    np.testing.assert_array_equal(one.frame(), other.frame())


def test_of_clusters_one_row_each_is_tested(texts):
    """Five equal rows are as much evidence as one."""
    alone = confidences(400)
    repeated = Predictions.from_arrays(
        np.repeat(alone.outcome, 5), np.repeat(alone.scores, 5), group=np.repeat(range(400), 5)
    )
    made, expected = certify(repeated, 0.1), certify(alone, 0.1)
    assert made.sentence == expected.sentence
    assert made.n_rows == 400
    texts.shown(made.tested_on)


def test_which_row_of_a_cluster_is_tested_follows_from_the_seed():
    rows = confidences(1000, group=np.arange(1000) // 5)
    frames = [certify(rows, 0.1, seed=seed).frame() for seed in (0, 0, 1)]
    assert frames[0].equals(frames[1])
    assert not frames[0].equals(frames[2])


def test_unequal_weights_are_refused_and_equal_ones_are_not(texts):
    with texts.raises(ValueError):
        certify(confidences(sample_weight=np.arange(1.0, 1001.0)))
    halves = confidences(sample_weight=np.full(1000, 0.3))
    assert certify(halves, 0.1).sentence == certify(confidences(), 0.1).sentence


def test_of_named_test_rows_only_these_are_tested(texts):
    rows = confidences(2000, test=np.arange(2000) >= 1000)
    made = certify(rows, 0.1)
    alone = Predictions.from_arrays(rows.outcome[1000:], rows.scores[1000:])
    assert made.sentence == certify(alone, 0.1).sentence
    texts(made.tested_on)


def test_counts_give_the_certificate_of_their_rows():
    rows = confidences(3000)
    counted = calib.aggregate(rows)
    one, other = certify(rows, 0.1, sides="both"), certify(counted, 0.1, sides="both")
    assert one.sentence == other.sentence
    np.testing.assert_array_equal(one.frame(), other.frame())


def test_of_grouped_scores_the_threshold_lies_between_cells():
    rows = confidences(3000)
    counted = calib.aggregate(rows, max_scores=100)
    assert not counted.exact
    made = certify(counted, 0.1)
    accepted = rows.scores >= made.threshold
    assert made.above.n_rows == accepted.sum()
    assert made.above.n_errors == (accepted & (rows.outcome == 0)).sum()


def test_of_a_matrix_the_top_label_is_accepted():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([0.1, 0.1, 0.1], 2000)
    label = (rng.random(2000)[:, None] > scores.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    rows = Predictions.from_arrays(label, scores)
    made = certify(rows, 0.1)
    top = Predictions.from_arrays(scores.argmax(axis=1) == label, scores.max(axis=1))
    assert made.sentence == certify(top, 0.1).sentence
    assert certify(rows, 0.1, view="class:0").sentence != made.sentence


def test_the_curve_has_the_bound_of_every_share():
    rows = confidences(1000)
    made = certify(rows, 0.1)
    frame = made.frame()
    assert len(frame) <= 402
    assert frame["share"].iloc[-1] == 1.0
    assert frame["share"].is_monotonic_increasing
    for line in frame.iloc[[0, 50, -1]].itertuples():
        accepted = rows.scores >= line.threshold
        errors = (accepted & (rows.outcome == 0)).sum()
        assert (accepted.sum(), errors) == (line.rows, line.errors)
        # The sequence passes all tests up to half of the rows, and has the whole level from there.
        level = 0.9525 if line.rows < 500 else 0.95
        bound = beta.ppf(level, errors + 1, accepted.sum() - errors)
        assert line.bound == pytest.approx(bound, rel=1e-12)
    certified = frame[frame["certified"]]
    assert (certified["bound"] <= 0.1).all()
    assert certified["rows"].iloc[0] == made.above.first_rows
    assert certified["rows"].iloc[-1] == made.above.n_rows


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_error": 0.0}, "max_error must fulfil 0 < max_error < 1, got 0.0"),
        ({"max_error": float("nan")}, "max_error must fulfil"),
        ({"confidence": 1.0}, "confidence must fulfil 0 < confidence <= 0.999999, got 1.0"),
        ({"confidence": 1.0 - 1e-13}, "confidence must fulfil 0 < confidence <= 0.999999, got"),
        ({"sides": "left"}, "sides must be one of above, both, got 'left'"),
        ({"view": "class:7"}, "view class:r must fulfil"),
    ],
)
def test_wrong_arguments_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        certify(confidences(50), **wrong)


def test_no_test_rows_are_refused(texts):
    rows = confidences(50).view()
    with texts.raises(ValueError):
        certify_rows(rows.rows(np.zeros(50, dtype=bool)), 0.05, 0.95)


def test_rare_positives_are_all_rejected_whatever_their_scores(texts):
    rng = np.random.default_rng(0)
    rows = Predictions.from_arrays(rng.random(2000) < 0.005, rng.random(2000))
    made = certify(rows, sides="both")
    assert made.decides_all_alike
    texts(made.sentence)
    assert (made.threshold, made.lower_threshold, made.share) == (None, 1.0, 1.0)
    assert not certify(two_sided(), 0.1, sides="both").decides_all_alike
