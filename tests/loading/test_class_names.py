"""The label in a column's name decides which class it is; without one, a person is asked."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

import calib
from calib.data.class_names import read_classes
from calib.loading import InputError, InputWarning, assess, guess, load, read
from tests.golden import Texts

RNG = np.random.default_rng(12)
N, K = 600, 12
P = RNG.dirichlet(np.full(K, 0.3), N)
LABEL = np.array([RNG.choice(K, p=p) for p in P])
LABEL[:K] = np.arange(K)
TRUE_LOSS = log_loss(LABEL, P, labels=np.arange(K))
# Sorted as text, classes are 0, 1, 10, 11, 2 ...; the other order is reversed.
ORDERS = {"sorted": np.argsort([str(k) for k in range(K)]), "reversed": np.arange(K)[::-1]}
NUMBERED = [
    *("{}_prob", "{}_p", "class{}_score", "pred_{}.0", "p_{}.0", "logit {} (raw)", "p{}_hat"),
    *("prob_{}_cal", "class_{}_prob", "prob_{}", "{}", "y=={}", "probability({})", "C{}"),
    *("model_p{}", "p[{}]", "prob{}", "m1_{}_v2", "{}hat", "p_{:02d}", "net1 class {} of 12"),
]
WORDS = ["ant", "Bee", "New York", "York", "x-ray", "10 km", "été", "c++"]
SPELLED = ["{}_prob", "p_{}", "P({})", "prob.{}.cal", "model 1: {} (calibrated)", "{}", "score {}"]


def loss(predictions) -> float:
    own = predictions.scores[np.arange(len(predictions)), predictions.outcome]
    return float(-np.log(own).mean())


def of_classes(labels=LABEL, matrix=P, names=None, outcome="y") -> pd.DataFrame:
    columns = [f"p_{k}" for k in range(matrix.shape[1])] if names is None else names
    return pd.DataFrame(matrix, columns=columns).assign(**{outcome: labels})


def named(form: str, order: np.ndarray) -> tuple[pd.DataFrame, list[str]]:
    columns = [form.format(k) for k in order]
    return of_classes(matrix=P[:, order], names=columns), columns


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("form", NUMBERED)
def test_numbers_anywhere_in_the_names_decide(form: str, order: str) -> None:
    frame, columns = named(form, ORDERS[order])
    strict = load(frame, outcome="y", score=columns, strict=True)
    assert loss(strict) == pytest.approx(TRUE_LOSS, abs=1e-12)
    assert strict.origin is not None
    assert strict.origin.guesses == ()
    guessed = load(frame)
    assert loss(guessed) == pytest.approx(TRUE_LOSS, abs=1e-12)
    assert assess([read(frame)], guess(read(frame))).problems == ()


@pytest.mark.parametrize("form", NUMBERED)
def test_labels_with_a_point_are_the_same_numbers(form: str) -> None:
    frame, columns = named(form, ORDERS["sorted"])
    text = frame.assign(y=frame.y.map("{}.0".format)).to_csv(index=False)
    assert loss(load(text, outcome="y", score=columns)) == pytest.approx(TRUE_LOSS, rel=1e-9)


@pytest.mark.parametrize("form", NUMBERED[:8])
def test_scans_read_the_names_as_load_does(form: str) -> None:
    frame, columns = named(form, ORDERS["sorted"])
    found = calib.scan(frame, outcome="y", score=columns, view="top:1")
    expected = calib.aggregate(load(frame, outcome="y", score=columns, exact=True), view="top:1")
    pd.testing.assert_frame_equal(found.frame(), expected.frame())


@pytest.mark.parametrize("form", SPELLED)
def test_words_anywhere_in_the_names_decide(form: str) -> None:
    order = np.arange(8)[::-1]
    part = P[:, :8] / P[:, :8].sum(axis=1, keepdims=True)
    rows = LABEL < 8
    columns = [form.format(WORDS[k]) for k in order]
    frame = of_classes(np.array(WORDS)[LABEL[rows]], part[rows][:, order], columns)
    found = load(frame, outcome="y", score=columns, strict=True)
    assert found.class_names == tuple(WORDS[k] for k in order)
    expected = -np.log(part[rows][np.arange(rows.sum()), LABEL[rows]]).mean()
    assert loss(found) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("form", ["{}_prob", "p_{}.0", "{}"])
def test_frames_of_from_predictions_are_read_by_name(form: str) -> None:
    frame, columns = named(form, ORDERS["sorted"])
    settings = calib.Settings(methods=("uncalibrated",))
    found = calib.from_predictions(LABEL, frame[columns], settings=settings)
    plain = calib.from_predictions(LABEL, P, settings=settings)
    pd.testing.assert_frame_equal(found.table(), plain.table())
    assert found.verdict == plain.verdict


def test_a_frame_of_two_columns_is_read_by_name() -> None:
    p = RNG.random(300)
    y = (RNG.random(300) < p).astype(int)
    settings = calib.Settings(methods=("uncalibrated",))
    expected = calib.from_predictions(y, p, settings=settings).table()
    for names, labels in ((["1", "0"], y), (["p_yes", "p_no"], np.where(y, "yes", "no"))):
        frame = pd.DataFrame({names[0]: p, names[1]: 1.0 - p})
        found = calib.from_predictions(labels, frame, settings=settings)
        pd.testing.assert_frame_equal(found.table(), expected)


def test_frames_without_labels_in_their_names_are_refused(texts: Texts) -> None:
    frame = pd.DataFrame(P[:, :3] / P[:, :3].sum(axis=1, keepdims=True), columns=list("abc"))
    y = np.arange(N) % 3
    with texts.raises(ValueError, "columns without labels"):
        calib.from_predictions(y, frame)
    settings = calib.Settings(methods=("uncalibrated",))
    given = calib.from_predictions(y, frame, classes=[0, 1, 2], settings=settings)
    plain = calib.from_predictions(y, frame.to_numpy(), settings=settings)
    pd.testing.assert_frame_equal(given.table(), plain.table())
    with texts.raises(ValueError, "another order"):
        calib.from_predictions(np.array(list("abc"))[y], frame, classes=["c", "b", "a"])


THREE = P[:, :3] / P[:, :3].sum(axis=1, keepdims=True)
OF_THREE = np.array([RNG.choice(3, p=p) for p in THREE])
LOSS_OF_THREE = log_loss(OF_THREE, THREE)


def question_of(frame: pd.DataFrame, severity: str = "question"):
    """The question of the page of the data about the columns of a table."""
    table = read(frame)
    found = assess([table], guess(table)).problems
    (problem,) = [each for each in found if each.code == "class-order"]
    assert problem.severity == severity
    return problem


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["p_caa", "p_cab", "p_cac"], OF_THREE),
        (["p_cac", "p_caa", "p_cab"], OF_THREE),
        (["p_caa", "p_cab", "p_cac"], OF_THREE + 1),
        (["p_0", "p_1", "p_2"], np.array(["ant", "bee", "cow"])[OF_THREE]),
    ],
)
def test_names_without_labels_are_a_question(names: list[str], labels: np.ndarray) -> None:
    frame = of_classes(labels, THREE, names)
    problem = question_of(frame)
    with pytest.warns(InputWarning) as warned:
        found = load(frame, outcome="y", score=names)
    assert [each.message.problem.code for each in warned] == ["class-order"]  # type: ignore[union-attr]
    assert loss(found) == pytest.approx(LOSS_OF_THREE, abs=1e-12)
    with pytest.raises(InputError) as refused:
        load(frame, outcome="y", score=names, strict=True)
    assert refused.value.problems[0].choices == problem.choices
    # The share of rows in the text of a choice is that of its reading.
    accuracy = float(np.mean(THREE.argmax(axis=1) == OF_THREE))
    assert f"right in {100 * accuracy:.1f}% of rows" in problem.choices[0].label
    answered = load(frame, outcome="y", score=names, strict=True, **problem.choices[0].arguments)
    assert loss(answered) == pytest.approx(LOSS_OF_THREE, abs=1e-12)
    assert answered.origin is not None
    assert answered.origin.arguments()["classes"] == problem.choices[0].arguments["classes"]


def test_the_sentence_of_the_question(texts: Texts) -> None:
    seen = OF_THREE != 2
    problem = question_of(of_classes(OF_THREE[seen] + 1, THREE[seen], ["p_x", "p_y", "p_z"]))
    texts(problem.sentence)
    for choice in problem.choices:
        texts(choice.label)


@pytest.mark.parametrize("n_classes", [3, 12])
@pytest.mark.parametrize("names", ["words", "numbers"])
def test_labels_from_1_whose_last_class_has_no_row(names: str, n_classes: int) -> None:
    matrix = P[:, :n_classes] / P[:, :n_classes].sum(axis=1, keepdims=True)
    label = np.array([RNG.choice(n_classes, p=p) for p in matrix])
    seen = label != n_classes - 1
    matrix, label = matrix[seen], label[seen]
    columns = [f"p_{chr(97 + k) * 3 if names == 'words' else k}" for k in range(n_classes)]
    frame = of_classes(label + 1, matrix, columns)
    assert len(question_of(frame).choices) == 2
    with pytest.warns(InputWarning):
        found = load(frame)
    expected = -np.log(matrix[np.arange(len(label)), label]).mean()
    assert loss(found) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(InputError):
        load(frame, outcome="y", score=columns, strict=True)


def test_names_that_hold_all_labels_are_no_question_without_evidence() -> None:
    seen = OF_THREE != 0
    found = load(of_classes(OF_THREE[seen], THREE[seen]))
    assert found.origin is not None
    assert "classes" not in " ".join(found.origin.guesses)
    np.testing.assert_array_equal(found.outcome, OF_THREE[seen])


@pytest.mark.parametrize(("shift", "first"), [(1, 0), (0, 1)])
def test_labels_and_numbers_that_differ_by_one_are_asked_about(shift: int, first: int) -> None:
    names = [f"p_{first + k}" for k in range(3)]
    frame = of_classes(OF_THREE + shift, THREE, names)
    for leaving_out in (False, True):
        with pytest.raises(InputError) as caught:
            load(frame, drop_missing=leaving_out)
        assert [each.code for each in caught.value.problems] == ["class-order"]
    problem = question_of(frame, "error")
    by_name, in_order = (load(frame, **each.arguments) for each in problem.choices)
    assert len(in_order) == N
    assert loss(in_order) == pytest.approx(LOSS_OF_THREE, abs=1e-12)
    # By name, the rows of the label without a column are left out.
    left = by_name.set_aside["outcome none of the classes"]
    assert left == N - len(by_name) == np.bincount(OF_THREE)[2 * shift]


@pytest.mark.parametrize("labels", [["x", "y", "z"], ["4", "5", "6"], ["0", "10", "20"]])
def test_labels_that_differ_from_the_names_are_asked_about(labels: list[str]) -> None:
    written = np.array(labels)[OF_THREE]
    frame = of_classes(written, THREE, ["p_a", "p_b", "p_c"], outcome="label")
    (choice,) = question_of(frame, "error").choices
    found = load(frame, **choice.arguments)
    assert choice.arguments == {"classes": tuple(labels)}
    assert loss(found) == pytest.approx(LOSS_OF_THREE, abs=1e-12)


@pytest.mark.parametrize("classes", [["0", "1"], ["0", "1", "1.0"]])
def test_classes_must_be_one_label_per_column(classes: list[str], texts: Texts) -> None:
    with texts.raises(InputError) as caught:
        load(of_classes(OF_THREE, THREE), classes=classes)
    assert [each.code for each in caught.value.problems] == ["classes"]


def test_class_names_of_an_archive_are_those_of_its_columns() -> None:
    stream = io.BytesIO()
    np.savez(stream, probs=THREE, y=OF_THREE, class_names=np.array(["cow", "ant", "bee"]))
    found = load(stream.getvalue(), outcome="y", score=["probs_cow", "probs_ant", "probs_bee"])
    assert found.class_names == ("cow", "ant", "bee")
    assert loss(found) == pytest.approx(LOSS_OF_THREE, abs=1e-12)


def test_many_labels_are_short_in_a_message(texts: Texts) -> None:
    with texts.raises(InputError):
        load(of_classes(LABEL + 1, P), drop_missing=True)


@pytest.mark.parametrize(
    ("columns", "labels", "places"),
    [
        # A class without a row, beside names that hold others' labels.
        (["p_p", "p_p_p", "p_q"], ["p_p", "q"], (1, 2)),
        (["p_p", "p_p_p"], ["p", "p_p"], (0, 1)),
        (["p_-1", "p_0", "p_1"], ["-1", "0", "1"], (0, 1, 2)),
        (["pCat", "pDog", "pApe"], ["ape", "cat"], (2, 0)),
        (["cat score", "score of dog", "ape"], ["ape", "cat", "dog"], (2, 0, 1)),
        (["p_New York", "p_New Delhi", "p_Newark"], ["New York", "Newark"], (0, 2)),
        (["False", "True"], ["0", "1"], (0, 1)),
        (["p 1.5", "p 0.5", "p 2.5"], ["0.5", "1.5", "2.5"], (1, 0, 2)),
    ],
)
def test_labels_in_names(columns: list[str], labels: list[str], places: tuple[int, ...]) -> None:
    (reading,) = read_classes(columns, labels)
    assert (reading.match, reading.places) == ("name", places)
