"""Strict reading refuses whatever would be guessed, and names what settles it."""

import numpy as np
import pandas as pd
import pytest

from calib.loading import InputError, InputWarning, load, load_models
from tests.golden import Texts

RNG = np.random.default_rng(1)
N = 400
P = RNG.uniform(0.05, 0.95, N).round(4)
Y = (RNG.random(N) < P).astype(int)
FRAME = pd.DataFrame({"y": Y, "p": P})
NAMED = {"outcome": "y", "score": "p"}


ROWS = list(zip(Y.tolist(), P.tolist(), strict=True))


def german(value: float) -> str:
    return str(value).replace(".", ",")


GERMAN = FRAME.to_csv(index=False, sep=";", decimal=",")


GUESSES = {
    "outcome": (FRAME, {"score": "p"}, {"outcome": "y"}),
    "score": (FRAME, {"outcome": "y"}, {"score": "p"}),
    "positive": (FRAME.replace({"y": {0: "no", 1: "yes"}}), NAMED, {"positive": "yes"}),
    "group": (FRAME.assign(group=np.arange(N) % 50), NAMED, {"group": "group"}),
    "fold": (FRAME.assign(cv_fold=np.arange(N) % 5), NAMED, {"fold": "cv_fold"}),
    "time": (FRAME.assign(date=pd.date_range("2020-01-01", periods=N)), NAMED, {"time": "date"}),
    "slices": (FRAME.assign(sex=["f", "m"] * (N // 2)), NAMED, {"slices": ("sex",)}),
    "split": (
        FRAME.assign(split=["cal", "test"] * (N // 2)),
        {**NAMED, "test_value": "test"},
        {"split": "split"},
    ),
    "test_value": (
        FRAME.assign(split=["cal", "test"] * (N // 2)),
        {**NAMED, "split": "split"},
        {"test_value": "test"},
    ),
    "header": (
        FRAME.to_csv(index=False, header=False),
        {"outcome": "column 1", "score": "column 2"},
        {"header": False},
    ),
    "delimiter": (
        # Every row has one comma and one semicolon: two numbers and a word, or a number and words.
        "p,q;label\n" + "".join(f"{german(p)};{'yes' if y else 'no'}\n" for y, p in ROWS),
        {"outcome": "label", "score": "p,q", "positive": "yes"},
        {"delimiter": ";"},
    ),
    "encoding": (
        FRAME.assign(place="Zürich").to_csv(index=False).encode("cp1252"),
        {**NAMED, "exact": True, "positive": "1"},
        {"encoding": "cp1252"},
    ),
}


@pytest.mark.parametrize("case", GUESSES)
def test_each_kind_of_guess_is_refused_until_it_is_named(case: str) -> None:
    data, given, settled = GUESSES[case]
    loose = load(data, **given)  # type: ignore[arg-type]
    assert loose.origin is not None
    assert len(loose.origin.guesses) == 1
    with pytest.raises(InputError) as caught:
        load(data, **given, strict=True)  # type: ignore[arg-type]
    (problem,) = caught.value.problems
    assert problem.code == f"guessed-{case}"
    ((name, value),) = settled.items()  # type: ignore[attr-defined]
    assert f"In Python: {name}={value!r}." in str(caught.value)
    strict = load(data, **given, **settled, strict=True)  # type: ignore[arg-type]
    assert strict.origin is not None
    assert strict.origin.guesses == ()
    assert strict.fingerprint == loose.fingerprint


def test_a_mark_of_two_meanings_is_refused_strict_or_not() -> None:
    text = FRAME.assign(weight=["1,234", "999"] * (N // 2)).to_csv(index=False, sep=";")
    for strict in (True, False):
        with pytest.raises(InputError) as caught:
            load(text, **NAMED, weight="weight", strict=strict)  # type: ignore[arg-type]
        assert [one.code for one in caught.value.problems] == ["decimal-mark"]


@pytest.mark.parametrize("text", [FRAME.to_csv(index=False), GERMAN, FRAME])
def test_what_a_file_says_is_no_guess(text: object) -> None:
    found = load(text, **NAMED, strict=True)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found.scores, P)
    assert found.origin is not None
    assert found.origin.guesses == ()


def test_weights_are_guessed_only_by_a_certain_name_and_if_the_columns_are_not_named() -> None:
    weighted = FRAME.assign(sample_weight=1.0 + P)
    loose = load(weighted)
    assert loose.weight is not None
    assert loose.origin is not None
    assert "weight" in loose.origin.guessed
    assert load(weighted, **NAMED, strict=True).weight is None  # type: ignore[arg-type]
    for name in ("weight", "wt", "w"):
        with pytest.warns(InputWarning) as asked:
            assert load(FRAME.assign(**{name: 1.0 + P})).weight is None
        problem = asked[0].message.problem  # type: ignore[union-attr]
        assert problem.code == "perhaps-weight"
        answers = [
            load(FRAME.assign(**{name: 1.0 + P}), **choice.arguments).weight is None
            for choice in problem.choices
        ]
        assert answers == [True, False]


def test_with_exact_other_columns_are_left_alone(texts: Texts) -> None:
    more = FRAME.assign(weight=2.5, sex=["f", "m"] * (N // 2))
    with texts.raises(InputError):
        load(more, **NAMED, strict=True)  # type: ignore[arg-type]
    found = load(more, **NAMED, positive=1, exact=True, strict=True)  # type: ignore[arg-type]
    assert found.weight is None
    assert dict(found.columns) == {}


def test_classes_in_the_order_of_their_labels_are_a_guess(texts: Texts) -> None:
    scores = RNG.dirichlet(np.ones(3), N)
    frame = pd.DataFrame(scores, columns=["p_0", "p_1", "p_2"])
    frame["y"] = np.array(["cat", "cow", "dog"])[RNG.integers(0, 3, N)]
    given = {"outcome": "y", "score": ["p_0", "p_1", "p_2"], "exact": True}
    with pytest.warns(InputWarning):
        assert load(frame, **given).n_classes == 3  # type: ignore[arg-type]
    with texts.raises(InputError):
        load(frame, **given, strict=True)  # type: ignore[arg-type]


def test_repeats_are_no_guess() -> None:
    twice = pd.concat([FRAME, FRAME], ignore_index=True)
    assert len(load(twice, **NAMED, strict=True)) == 2 * N  # type: ignore[arg-type]


def test_models_are_no_exception(texts: Texts) -> None:
    long = pd.concat([FRAME.assign(model=name) for name in ("old", "new")], ignore_index=True)
    with texts.raises(InputError):
        load_models(long, outcome="y", strict=True)
    assert len(load_models(long, model="model", **NAMED, strict=True)) == 2  # type: ignore[arg-type]
    wide = pd.DataFrame({"y": Y, "p_old": P, "p_new": P**2})
    with texts.raises(InputError):
        load_models(wide, outcome="y", strict=True)
    found = load_models(wide, outcome="y", models=["p_old", "p_new"], strict=True)
    assert list(found) == ["p_old", "p_new"]
