"""One column a class: found, matched to labels, converted only when asked, and every fault told."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from calib.loading import Columns, InputError, InputWarning, guess, load, read
from calib.loading.columns import as_labels
from calib.loading.guessing.class_columns import match_classes, shortened
from tests.assessed import inspect
from tests.golden import Texts

RNG = np.random.default_rng(7)
NAMES = ["ant", "bee", "cow", "dog"]
LOGITS = RNG.normal(0.0, 2.0, (300, 4))
P = softmax(LOGITS, axis=1)
LABEL = (LOGITS + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)


def table(matrix=P, prefix="p_", labels=None, names=NAMES, **columns) -> pd.DataFrame:
    frame = pd.DataFrame(matrix, columns=[f"{prefix}{name}" for name in names])
    return frame.assign(y=np.array(NAMES)[LABEL] if labels is None else labels, **columns)


def codes(problems) -> dict:
    return {problem.code: problem for problem in problems}


@pytest.mark.parametrize(
    "prefix", ["p_", "prob_", "score_", "proba.", "logit_", "class ", "", "q_"]
)
@pytest.mark.parametrize("by_index", [False, True])
def test_class_columns_are_found_by_name_or_sum(prefix, by_index) -> None:
    frame = table(prefix=prefix, labels=LABEL if by_index else None, sample_weight=1.0 + P[:, 0])
    with pytest.warns(InputWarning) if by_index else nullcontext():
        predictions = load(frame)
    assert predictions.class_names == tuple(NAMES)
    np.testing.assert_array_equal(predictions.outcome, LABEL)
    np.testing.assert_allclose(predictions.scores, P, rtol=1e-12)
    np.testing.assert_allclose(predictions.weight, 1.0 + P[:, 0])


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (["p0", "p1", "p2", "p3"], ("0", "1", "2", "3")),
        (["P(ant)", "P(bee)", "P(cow)", "P(dog)"], ("ant", "bee", "cow", "dog")),
        (["0", "1", "2", "3"], ("0", "1", "2", "3")),
        (["p_New York", "p_New Jersey", "p_New Delhi", "p_Newcastle"], None),
        (["prob_class_1", "prob_class_2", "prob_class_3", "prob_class_4"], ("1", "2", "3", "4")),
    ],
)
def test_names_of_classes_come_from_headers(columns, names) -> None:
    frame = pd.DataFrame(P, columns=columns)
    labels = [c.removeprefix("p_") for c in columns] if names is None else list(names)
    predictions = load(frame.assign(label=np.array(labels)[LABEL]))
    assert predictions.class_names == tuple(labels)
    np.testing.assert_array_equal(predictions.outcome, LABEL)


def test_loss_is_that_of_scikit_learn() -> None:
    predictions = load(table())
    own = -np.log(predictions.scores[np.arange(300), predictions.outcome]).mean()
    assert own == pytest.approx(log_loss(np.array(NAMES)[LABEL], P, labels=NAMES), abs=1e-12)


def test_columns_of_several_forecasts_are_no_classes() -> None:
    frame = pd.DataFrame(RNG.random((300, 3)), columns=["score_1", "score_2", "score_3"])
    assert isinstance(guess(read(frame.assign(y=LABEL % 2))).score, str)


def test_a_class_that_is_never_seen_is_told(texts: Texts) -> None:
    keep = LABEL != 3
    frame = table()[keep]
    problem = codes(inspect(read(frame), guess(read(frame))))["unseen-classes"]
    assert problem.severity == "warning"
    texts.shown(problem.sentence)
    predictions = load(frame)
    assert predictions.class_names == tuple(NAMES)
    np.testing.assert_array_equal(predictions.outcome, LABEL[keep])


def test_labels_in_sorted_order_are_a_warning() -> None:
    frame = table(names=["0", "1", "2", "3"])
    assert "class-order" in codes(inspect(read(frame), guess(read(frame))))
    with pytest.warns(InputWarning):
        assert load(frame).class_names == tuple(NAMES)


@pytest.mark.parametrize("labels", [LABEL + (LABEL == 3), LABEL - 1])
def test_labels_outside_the_classes(labels, texts: Texts) -> None:
    frame = table(labels=labels, names=["0", "1", "2", "3"])
    first = int(np.flatnonzero((labels < 0) | (labels > 3))[0])
    with texts.raises(InputError) as caught:
        load(frame)
    assert f"{first + 1:,}" in str(caught.value)
    kept = load(frame, drop_missing=True)
    assert kept.set_aside == {
        "outcome none of the classes": int(((labels < 0) | (labels > 3)).sum())
    }


def test_labels_of_other_classes(texts: Texts) -> None:
    with texts.raises(InputError):
        load(table(labels=np.array([f"x{i}" for i in range(9)])[LABEL * 2 + (P[:, 0] > 0.5)]))


@pytest.mark.parametrize("kind", ["logits", "log-probabilities", "positive logits"])
def test_logits_are_softmaxed_after_asking(kind, texts: Texts) -> None:
    written = {
        "logits": LOGITS,
        "log-probabilities": np.log(P),
        "positive logits": LOGITS - LOGITS.min(),
    }[kind]
    frame = table(written, prefix="logit_")
    mapping = guess(read(frame))
    problem = codes(inspect(read(frame), mapping))["logits"]
    assert problem.severity == "error"
    assert problem.repair.transform == "softmax"
    texts(problem.repair_label)
    with texts.raises(InputError):
        load(frame)
    np.testing.assert_allclose(load(frame, transform="softmax").scores, P, rtol=1e-10)


def test_a_logit_of_minus_infinity_is_a_probability_of_zero(texts: Texts) -> None:
    logits = LOGITS.copy()
    logits[0, 1] = -np.inf
    logits[0] += 1.0
    label = np.array(NAMES)[LABEL]
    label[0] = "cow"
    scores = load(table(logits, prefix="logit_", labels=label), transform="softmax").scores
    assert scores[0, 1] == 0.0
    with texts.raises(InputError):
        load(table(-logits, prefix="logit_", labels=label), transform="softmax")


def test_rows_that_do_not_sum_to_one(texts: Texts) -> None:
    few = P.copy()
    few[[4, 9]] *= 0.9
    with texts.raises(InputError):
        load(table(few))
    ovr = P * np.random.default_rng(7).uniform(0.7, 1.0, (300, 1))
    scores = [f"p_{name}" for name in NAMES]
    with texts.raises(InputError):
        load(table(ovr), score=scores)
    np.testing.assert_allclose(load(table(ovr), score=scores, transform="normalize").scores, P)


def test_percentages(texts: Texts) -> None:
    with texts.raises(InputError):
        load(table(100.0 * P))
    np.testing.assert_allclose(load(table(100.0 * P), transform="percent").scores, P)


def test_nan_rows_and_text_rows(texts: Texts) -> None:
    frame = table().astype(object)
    frame.loc[3, "p_bee"] = np.nan
    frame.loc[7, "p_cow"] = "oops"
    with texts.raises(InputError):
        load(frame, score=[f"p_{name}" for name in NAMES])
    predictions = load(frame, score=[f"p_{name}" for name in NAMES], drop_missing=True)
    assert predictions.set_aside == {"score missing": 1, "score not a number": 1}
    np.testing.assert_allclose(predictions.scores, np.delete(P, [3, 7], axis=0), rtol=1e-12)


def test_one_class_column(texts: Texts) -> None:
    with texts.raises(InputError):
        load(table(), outcome="y", score=["p_ant"])
    with texts.raises(InputError):
        load(table(), outcome="y", score="p_ant", positive="ant", transform="softmax")


def test_one_label_only(texts: Texts) -> None:
    with texts.raises(InputError):
        load(table(labels="ant"), outcome="y")


def test_only_zeros_and_ones() -> None:
    frame = table(np.eye(4)[LABEL])
    mapping = Columns(outcome="y", score=tuple(frame.columns[:4]))
    problems = codes(inspect(read(frame), mapping))
    assert problems["labels-only"].severity == "error"


def test_a_thousand_classes() -> None:
    n, m = 2_000, 1_000
    matrix = RNG.dirichlet(np.full(m, 0.05), n).astype(np.float32)
    label = RNG.integers(0, m, n)
    frame = pd.DataFrame(matrix, columns=[f"p_{k}" for k in range(m)]).assign(label=label)
    predictions = load(frame)
    assert predictions.score_name == "p_0 … p_999"
    assert predictions.scores.shape == (n, m)
    np.testing.assert_array_equal(predictions.outcome, label)
    # Float32 rows are off by rounding and made to sum to 1.
    np.testing.assert_allclose(predictions.scores.sum(axis=1), 1.0, rtol=1e-12)


def test_float32_stays_float32_until_it_is_checked() -> None:
    from calib.loading.checking.mapped_rows import map_rows

    small = read(table(P.astype(np.float32)))
    assert map_rows(small, guess(small)).score.dtype == np.float32
    wide = read(table())
    assert map_rows(wide, guess(wide)).score.dtype == np.float64


def test_labels_are_found_among_the_names_of_the_columns() -> None:
    found = match_classes(["p_ant", "p_bee", "p_cow"], as_labels(pd.Series(["cow", "ant"])))
    assert (found.names, found.doubtful) == (("ant", "bee", "cow"), False)
    assert found.index.tolist() == [0, 2, -1]


def test_many_columns_are_named_by_the_first_and_the_last() -> None:
    assert shortened(["p_0", "p_1"]) == "p_0, p_1"
    assert shortened([f"p_{i}" for i in range(1000)]) == "p_0 … p_999"


@pytest.mark.parametrize("shift", [-10.0, 0.0])
def test_shares_of_logits_are_refused(shift, texts: Texts) -> None:
    frame = table(LOGITS + shift)
    scores = list(frame.columns[:4])
    with texts.raises(InputError) as caught:
        load(frame, score=scores, transform="normalize")
    (problem,) = caught.value.problems
    assert (problem.code, problem.repair.transform) == ("outside", "none")


@pytest.mark.parametrize("whole", [1.0, 100.0])
def test_the_softmax_of_probabilities_is_refused(whole, texts: Texts) -> None:
    with texts.raises(InputError, "probabilities") as caught:
        load(table(whole * P), transform="softmax")
    (problem,) = caught.value.problems
    assert (problem.code, problem.repair.transform) == ("not-logits", "none")


def test_repeated_names_of_columns_are_said(texts: Texts) -> None:
    text = table(labels=np.array(["ant", "ant", "cow", "dog"])[LABEL]).to_csv(index=False)
    with pytest.warns(InputWarning) as caught:
        assert load(text.replace("p_bee", "p_ant", 1)).class_names[:2] == ("ant", "ant (2)")
    texts(str(caught[0].message))
