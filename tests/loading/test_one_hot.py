"""One column of zeros and ones per class is one outcome, and never the outcome of one class."""

import numpy as np
import pandas as pd
import pytest

from calib.loading import InputError, assess, guess, load, read
from tests.golden import Texts

RNG = np.random.default_rng(13)
N = 300
P = RNG.dirichlet(np.ones(3), N)
LABEL = np.array([RNG.choice(3, p=p) for p in P])
ONES = np.eye(3)[LABEL]
NAMES = [
    *("y_ape,y_cat,y_dog", "true_ape,true_cat,true_dog", "ape,cat,dog", "is_ape,is_cat,is_dog"),
    *("ape_label,cat_label,dog_label", "y_0,y_1,y_2", "Y.ape,Y.cat,Y.dog", "class1,class2,class3"),
]


def hot(names: str, scores: str, kind: type = int) -> pd.DataFrame:
    columns = dict(zip(names.split(","), ONES.T.astype(kind), strict=True))
    return pd.DataFrame(columns | dict(zip(scores.split(","), P.T, strict=True)))


@pytest.mark.parametrize(
    ("names", "kind"), [*((names, int) for names in NAMES), (NAMES[0], float), (NAMES[0], bool)]
)
@pytest.mark.parametrize("scores", ["p_ape,p_cat,p_dog", "prob_0,prob_1,prob_2"])
def test_one_column_per_class_is_refused(names: str, scores: str, kind: type) -> None:
    frame = hot(names, scores, kind)
    for given in ({}, {"outcome": names.split(",")[0]}, {"strict": True}):
        with pytest.raises(InputError) as caught:
            load(frame, score=scores.split(","), **given)  # type: ignore[arg-type]
        assert [each.code for each in caught.value.problems] == ["one-hot"]
    found = assess([read(frame)], guess(read(frame))).problems
    assert [each.code for each in found] == ["one-hot"]
    # The sentence advises this change.
    frame["label"] = frame[names.split(",")].idxmax(axis=1)
    given = {"outcome": "label", "score": scores.split(","), "classes": names.split(",")}
    read_back = load(frame, strict=True, exact=True, **given)  # type: ignore[arg-type]
    np.testing.assert_array_equal(read_back.outcome, LABEL)


def test_the_sentence(texts: Texts) -> None:
    with texts.raises(InputError):
        load(hot(NAMES[0], "p_ape,p_cat,p_dog"))


def test_two_columns_are_asked_about(texts: Texts) -> None:
    y = (LABEL == 0).astype(int)
    frame = pd.DataFrame({"y_no": 1 - y, "y_yes": y, "p": P[:, 0]})
    with texts.raises(InputError) as caught:
        load(frame)
    (problem,) = caught.value.problems
    found = load(frame, **problem.choices[1].arguments)
    assert found.outcome_name == "y_yes"
    np.testing.assert_array_equal(found.outcome, y)


def test_a_named_class_against_the_others_is_an_outcome() -> None:
    found = load(hot(NAMES[0], "p_ape,p_cat,p_dog"), outcome="y_cat", score="p_cat")
    np.testing.assert_array_equal(found.outcome, LABEL == 1)


def test_zeros_and_ones_that_are_features_are_left_alone() -> None:
    features = pd.DataFrame(ONES.astype(int), columns=["red", "green", "blue"])
    frame = features.assign(y=(P[:, 0] > RNG.random(N)).astype(int), p=P[:, 0])
    assert load(frame).outcome_name == "y"
    several = frame.drop(columns=["green", "blue"]).assign(y_late=RNG.integers(0, 2, N))
    assert load(several).outcome_name == "y"
