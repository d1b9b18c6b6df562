"""Two columns that add up to 1 are two classes; other columns like the score are never silent."""

import io

import numpy as np
import pandas as pd
import pytest

from calib.loading import Columns, InputError, InputWarning, assess, guess, load, read
from calib.loading.name_patterns import is_bound
from tests.golden import Texts
from tests.rare import common_first, rare

RNG = np.random.default_rng(5)
P = RNG.random(400)
Y = (RNG.random(400) < P).astype(int)
WORDS = np.where(Y, "yes", "no")
# The first column is of the negative class, the second of the positive one.
PAIRS = [
    *("probs_0,probs_1", "y_prob_0,y_prob_1", "scores_0,scores_1", "preds_0,preds_1", "0,1"),
    *("probability_0,probability_1", "prob_class_0,prob_class_1", "prob_0,prob_1", "P(0),P(1)"),
    *("prediction_score_0,prediction_score_1", "0_prob,1_prob", "p_0.0,p_1.0", "negative,positive"),
    *("p_good,p_bad", "prob_no,prob_yes", "p_false,p_true", "no_churn,churn", "neg,pos", "q,p"),
    *("p_other,p_event", "1 - p,p", "proba_neg_class,proba_pos_class", "prob_ham,prob_spam"),
    *("m1 probability of no,m1 probability of yes",),
]


def table(names: str, labels: np.ndarray = Y, *, exchanged: bool = False) -> pd.DataFrame:
    negative, positive = names.split(",")
    frame = pd.DataFrame({negative: 1.0 - P, positive: P})
    return frame[[positive, negative] if exchanged else [negative, positive]].assign(y=labels)


@pytest.mark.parametrize("exchanged", common_first([False, True], [True]))
@pytest.mark.parametrize("labels", [pytest.param(Y, marks=rare), WORDS], ids=["numbers", "words"])
@pytest.mark.parametrize("names", PAIRS)
def test_the_score_is_that_of_the_positive_class(
    names: str, labels: np.ndarray, exchanged: bool
) -> None:
    frame = table(names, labels, exchanged=exchanged)
    # Numbers in names are in the order of sorted labels, as scikit-learn has them.
    found = load(frame)
    np.testing.assert_array_equal(found.scores, P)
    np.testing.assert_array_equal(found.outcome, Y)
    (problem,) = assess([read(frame)], guess(read(frame))).problems
    assert (problem.severity, problem.code) == ("note", "two-classes")
    # One click takes the other column.
    (choice,) = problem.choices
    other = load(frame, **choice.arguments, exact=True, outcome="y", positive=labels[Y == 1][0])
    np.testing.assert_array_equal(other.scores, 1.0 - P)
    score = list(frame.columns[:2])
    named = load(frame, outcome="y", score=score, positive=labels[Y == 1][0], strict=True)
    np.testing.assert_array_equal(named.scores, P)


@pytest.mark.parametrize("names", ["probs", "y_prob", "scores", "preds", "p", "predict_proba"])
@pytest.mark.parametrize(
    "labels",
    [pytest.param(Y, marks=rare), WORDS, pytest.param(np.where(Y, "dog", "cat"), marks=rare)],
    ids=["01", "ny", "cd"],
)
def test_archives_of_both_classes(names: str, labels: np.ndarray) -> None:
    stream = io.BytesIO()
    np.savez(stream, y=labels, **{names: np.c_[1.0 - P, P]})
    found = load(stream.getvalue())
    assert found.score_name == f"{names}_1"
    np.testing.assert_array_equal(found.scores, P)
    np.testing.assert_array_equal(found.outcome, Y)


def test_names_of_classes_in_an_archive() -> None:
    stream = io.BytesIO()
    np.savez(stream, y=1 - Y, probs=np.c_[P, 1.0 - P], class_names=np.array(["yes", "no"]))
    found = load(stream.getvalue())
    assert (found.score_name, found.class_names) == ("probs_yes", ("no", "yes"))
    np.testing.assert_array_equal(found.scores, P)
    np.testing.assert_array_equal(found.outcome, Y)


def test_a_positive_label_chooses_its_column() -> None:
    found = load(table("p_no,p_yes", WORDS), positive="no")
    assert (found.score_name, found.class_names) == ("p_no", ("yes", "no"))
    np.testing.assert_array_equal(found.scores, 1.0 - P)


def test_labels_1_and_2_need_no_positive_label() -> None:
    found = load(table("p_1,p_2", Y + 1))
    assert (found.score_name, found.class_names) == ("p_2", ("1", "2"))
    np.testing.assert_array_equal(found.scores, P)


def test_names_without_a_meaning_are_taken_in_order_and_told(texts: Texts) -> None:
    frame = table("a,b")
    with pytest.warns(InputWarning) as caught:
        np.testing.assert_array_equal(load(frame).scores, P)
    texts(str(caught[0].message))
    with pytest.raises(InputError) as refused:
        load(frame, outcome="y", score=["a", "b"], strict=True)
    assert [each.code for each in refused.value.problems] == ["guessed-score"]
    np.testing.assert_array_equal(load(frame, score="a").scores, 1.0 - P)
    found = load(frame, outcome="y", score=["a", "b"], classes=[1, 0], strict=True)
    np.testing.assert_array_equal(found.scores, 1.0 - P)


def test_the_outcome_names_its_column() -> None:
    frame = table("prob_away,prob_home", exchanged=True).rename(columns={"y": "home_win"})
    assert load(frame, outcome="home_win").score_name == "prob_home"


def test_features_that_add_up_to_1_are_not_the_score() -> None:
    share = RNG.random(400)
    frame = pd.DataFrame({"y": Y, "p": P, "pct_male": share, "pct_female": 1.0 - share})
    assert load(frame).score_name == "p"
    unnamed = frame.rename(columns={"p": "random_forest"})
    with pytest.warns(InputWarning, match="which fits the outcome best"):
        assert load(unnamed).score_name == "random_forest"


@pytest.mark.parametrize(
    "others",
    [["naive_bayes"], ["naive_bayes", "svm"], ["p_rf"], ["old"]],
)
def test_a_second_score_is_told(others: list[str], texts: Texts) -> None:
    frame = pd.DataFrame({"churned": Y, "random_forest": P})
    frame = frame.assign(**{name: P ** (2 + i) for i, name in enumerate(others)})
    with pytest.warns(InputWarning) as caught:
        found = load(frame, score=None)
    texts(str(caught[0].message))
    (problem,) = assess([read(frame)], guess(read(frame))).problems
    # A name that tells is believed, and no name makes it a question.
    named = others == ["p_rf"]
    code = ("warning", "other-scores") if named else ("question", "which-score")
    assert (problem.severity, problem.code) == code
    # Without a name, the scores that fit the outcome best are used.
    assert found.score_name == ("p_rf" if named else "random_forest")
    (compare,) = [each for each in problem.choices if "models" in each.arguments]
    arguments = compare.arguments
    mapping = guess(read(frame)).chosen(**arguments)
    assert set(assess([read(frame)], mapping).models) == {"random_forest", *others}
    # A column that a person named is certain.
    for choice in problem.choices:
        if choice is not compare:
            assert load(frame, **choice.arguments).score_name == choice.arguments["score"]


BOUNDS = [
    *(("p", "p_lower", "p_upper"), ("prob", "prob_low", "prob_high"), ("p", "p_lo95", "p_hi95")),
    *(("score", "score.lwr", "score.upr"), ("prob", "lower_95", "upper_95"), ("p", "p_se", "p_sd")),
    *(("estimate", "conf.low", "conf.high"), ("p_hat", "p_2.5", "p_97.5"), ("p", "q025", "q975")),
    *(("risk", "risk_ci_lower", "risk_ci_upper"), ("prob_rf", "prob_rf_lcl", "prob_rf_ucl")),
]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2)])
@pytest.mark.parametrize("names", BOUNDS)
def test_bounds_are_bounds(names: tuple[str, str, str], order: tuple[int, int, int]) -> None:
    columns = dict(zip(names, (P, 0.9 * P, 0.1 + 0.9 * P), strict=True))
    frame = pd.DataFrame({"y": Y} | {names[i]: columns[names[i]] for i in order})
    assert load(frame).score_name == names[0]
    for models in (False, True):
        mapping = guess(read(frame), models=models)
        assert (mapping.score, mapping.models) == (names[0], ())
        assert assess([read(frame)], mapping).problems == ()


def test_bounds_of_several_models() -> None:
    frame = pd.DataFrame(
        {"y": Y, "p_a": P, "p_a_lower": 0.9 * P, "p_b": P**2, "p_b_lower": 0.5 * P}
    )
    assert guess(read(frame), models=True).models == ("p_a", "p_b")


def test_a_bound_without_a_score_is_the_score() -> None:
    frame = pd.DataFrame({"y": Y, "upper": P})
    assert guess(read(frame), Columns(outcome="y")).score == "upper"
    assert [is_bound(name) for name in ("upper", "superb", "p_high_risk")] == [True, False, False]
