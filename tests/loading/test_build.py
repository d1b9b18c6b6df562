"""From files to Predictions: the right numbers arrive, and nothing is converted unasked."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from calib.loading import Columns, InputError, load, read
from tests.assessed import to_predictions
from tests.golden import Texts

RNG = np.random.default_rng(3)
P = RNG.uniform(0.02, 0.98, 400)
Y = (RNG.random(400) < P).astype(int)
FRAME = pd.DataFrame({"y": Y, "p": P})


def test_adult_as_two_files(shared: Path) -> None:
    folder = shared / "data" / "adult"
    predictions = load(folder / "adult_nb_cal.csv", test=folder / "adult_nb_test.csv")
    test = predictions.test
    assert test is not None
    assert (len(predictions), int(test.sum())) == (24_422, 16_281)
    # Table 1 of SplineCalib: 0.7448, by scikit-learn's log loss on what was loaded.
    loss = log_loss(predictions.outcome[test], predictions.scores[test])
    assert round(loss, 4) in (0.7448, 0.7449)
    assert set(predictions.columns) == {"sex", "race"}
    assert (predictions.score_name, predictions.outcome_name) == ("score", "y")
    assert predictions.name == "adult_nb_cal"


def test_every_source_gives_the_same(tmp_path: Path) -> None:
    path = tmp_path / "cal.csv"
    FRAME.to_csv(path, index=False)
    sources = [path, str(path), path.read_bytes(), path.read_text(), FRAME]
    assert len({load(source).fingerprint for source in sources}) == 1


def test_nothing_is_converted_unasked(texts: Texts) -> None:
    with texts.raises(InputError):
        load(FRAME.assign(p=100 * P))
    with texts.raises(InputError):
        load(FRAME.assign(p=np.log(P / (1 - P))))
    with texts.raises(InputError):
        load(FRAME.assign(p=np.where(np.arange(400) == 7, np.nan, P)))


@pytest.mark.parametrize(
    ("transform", "scores"), [("percent", 100 * P), ("logit", np.log(P / (1 - P)))]
)
def test_transforms(transform: str, scores: np.ndarray) -> None:
    predictions = load(FRAME.assign(p=scores), transform=transform)  # type: ignore[arg-type]
    np.testing.assert_allclose(predictions.scores, P, rtol=1e-12)


def test_rows_left_out_are_counted_once() -> None:
    frame = FRAME.astype(object)
    frame.loc[3, "y"] = None
    frame.loc[3, "p"] = None
    frame.loc[4, "p"] = "oops"
    frame.loc[5, "p"] = np.inf
    predictions = load(frame, drop_missing=True)
    assert predictions.set_aside == {
        "outcome missing": 1,
        "score not a number": 1,
        "score infinite": 1,
    }
    np.testing.assert_array_equal(predictions.scores, np.delete(P, [3, 4, 5]))
    np.testing.assert_array_equal(predictions.outcome, np.delete(Y, [3, 4, 5]))


def test_swap_and_positive() -> None:
    frame = FRAME.assign(y=np.where(Y == 1, "spam", "ham"))
    spam, ham = load(frame), load(frame, positive="ham", swap=True)
    assert spam.class_names == ("ham", "spam")
    assert ham.class_names == ("spam", "ham")
    np.testing.assert_array_equal(spam.outcome, Y)
    np.testing.assert_array_equal(ham.outcome, 1 - Y)
    np.testing.assert_array_equal(ham.scores, 1 - P)


@pytest.mark.parametrize("positive", [1, 1.0, "1", np.int64(1)])
def test_positive_in_any_writing(positive: object) -> None:
    np.testing.assert_array_equal(load(FRAME, positive=positive).outcome, Y)


def test_one_against_the_rest() -> None:
    names = np.where(Y == 1, "cat", np.where(P > 0.5, "cow", "dog"))
    predictions = load(FRAME.assign(y=names), positive="cat", others_negative=True)
    assert predictions.class_names == ("not cat", "cat")
    np.testing.assert_array_equal(predictions.outcome, Y)


def test_split_weight_group_and_time() -> None:
    frame = FRAME.assign(
        part=np.tile(["cal", "holdout"], 200),
        sample_weight=np.arange(1, 401),
        patient=np.repeat(np.arange(100), 4),
        day=pd.date_range("2024-01-01", periods=400).astype(str),
        sex=np.tile(["f", None], 200),
    )
    predictions = load(frame, group="patient", slices=["sex"])
    np.testing.assert_array_equal(predictions.test, np.tile([False, True], 200))
    np.testing.assert_array_equal(predictions.weight, np.arange(1, 401))
    np.testing.assert_array_equal(predictions.group, np.repeat(np.arange(100), 4))
    assert predictions.columns["sex"].tolist()[:2] == ["f", "(missing)"]
    named = load(frame, time="day", slices=["sex"])
    assert named.columns["day"].dtype.kind == "M"


FOLDS = np.array(["one", "two", "three"])[np.arange(400) % 3]


def test_folds_are_read_by_name() -> None:
    predictions = load(FRAME.assign(site=FOLDS), fold="site")
    assert predictions.fold is not None
    assert predictions.fold_names == ("one", "three", "two")
    np.testing.assert_array_equal(np.array(predictions.fold_names)[predictions.fold], FOLDS)
    assert predictions.origin is not None
    assert predictions.origin.columns.fold == "site"
    assert load(FRAME.assign(fold=FOLDS)).fingerprint == predictions.fingerprint
    assert load(FRAME).fingerprint != predictions.fingerprint


def test_rows_without_a_fold_are_refused_or_left_out(texts: Texts) -> None:
    frame = FRAME.assign(site=np.where(np.arange(400) < 3, None, FOLDS))
    with pytest.raises(InputError) as caught:
        load(frame, fold="site")
    texts(str(caught.value))
    kept = load(frame, fold="site", drop_missing=True)
    assert (len(kept), kept.set_aside) == (397, {"fold missing": 3})


@pytest.mark.parametrize(
    "fold",
    [
        np.ones(400),
        np.arange(400),
        np.where(Y == 1, "x", "y"),
    ],
)
def test_folds_that_cannot_be_cross_fitted_in_are_refused(fold: np.ndarray, texts: Texts) -> None:
    with texts.raises(InputError) as caught:
        load(FRAME.assign(site=fold), fold="site")
    (problem,) = caught.value.problems
    assert problem.repair is not None
    assert (problem.code, problem.repair.fold) == ("folds", None)


def test_folds_and_test_rows_are_not_both_used(texts: Texts) -> None:
    frame = FRAME.assign(fold=FOLDS, split=np.tile(["cal", "test"], 200))
    with texts.raises(InputError):
        load(frame, fold="fold", split="split")
    with texts.raises(InputError):
        load(frame, fold="fold", test=frame)
    # A named column is preferred to a guessed one, and test rows to folds.
    assert load(frame, fold="fold").test is None
    assert load(frame).fold is None
    assert load(frame[["y", "p", "fold"]], test=frame).fold is None


def test_top_label(shared: Path) -> None:
    predictions = load(shared / "data/cnn/resnet110_cifar10_top1.parquet")
    assert predictions.class_names == ("wrong", "right")
    # Accuracy 0.9356 and ECE 0.0475 (the file's published figure) fix mean confidence.
    assert predictions.outcome.mean() == pytest.approx(0.9356)


@pytest.mark.parametrize("labels", [[0, 1, 2], ["ant", "bee", "cow"]])
def test_one_column_a_class(labels: list[object], texts: Texts) -> None:
    matrix = RNG.dirichlet(np.ones(3), 200)
    codes = RNG.integers(0, 3, 200)
    frame = pd.DataFrame(matrix, columns=[f"p_{label}" for label in labels])
    frame["y"] = np.array(labels, dtype=object)[codes]
    predictions = load(frame, outcome="y", score=[f"p_{label}" for label in labels])
    assert predictions.class_names == tuple(map(str, labels))
    np.testing.assert_array_equal(predictions.outcome, codes)
    np.testing.assert_allclose(predictions.scores, matrix, rtol=1e-12)
    with texts.raises(InputError):
        load(frame, outcome="y", score=[f"p_{labels[0]}", f"p_{labels[1]}"])


def test_labels_find_their_columns_by_name() -> None:
    frame = pd.DataFrame({"y": ["b", "a"] * 5, "b": [0.75] * 10, "a": [0.25] * 10})
    predictions = load(frame, outcome="y", score=["b", "a"])
    assert (predictions.score_name, predictions.class_names) == ("b", ("a", "b"))
    np.testing.assert_array_equal(predictions.outcome, [1, 0] * 5)


FULL = FRAME.assign(
    w=1.0 + P, split=np.tile(["cal", "test"], 200), group=np.tile(np.arange(100), 4), sex="f"
)
MAPPING = Columns(
    outcome="y",
    score="p",
    positive="1",
    weight="w",
    split="split",
    test_value="test",
    group="group",
    slices=("sex",),
)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("y", 1 - Y[7]),
        ("p", np.nextafter(P[7], 1)),
        ("w", np.nextafter(1.0 + P[7], 9)),
        ("split", "cal"),
        ("group", 9),
        ("sex", "m"),
    ],
)
def test_fingerprint_sees_one_changed_cell(column: str, value: object) -> None:
    changed = FULL.copy()
    changed.loc[7, column] = value
    one, two = (to_predictions(read(frame), MAPPING) for frame in (FULL, changed))
    assert one.fingerprint != two.fingerprint
    assert one.fingerprint == to_predictions(read(FULL.copy()), MAPPING).fingerprint


def test_test_file_without_the_guessed_extras(texts: Texts) -> None:
    predictions = load(FRAME.assign(sex=np.tile(["f", "m"], 200)), test=FRAME.iloc[:50] * [1, 0.9])
    assert predictions.columns == {}
    with texts.raises(InputError):
        load(FRAME.assign(sex="f"), test=FRAME, slices=["sex"])


def test_errors_carry_their_problems() -> None:
    with pytest.raises(InputError) as caught:
        load(FRAME.assign(p=100 * P))
    assert [problem.code for problem in caught.value.problems] == ["percent"]


def test_codes_are_text_and_quantities_stay_numbers() -> None:
    frame = FRAME.assign(site=np.arange(len(Y)) % 6, age=np.arange(float(len(Y))))
    frame.loc[0, "age"] = np.nan
    columns = load(frame, slices=["site", "age"]).columns
    assert columns["site"].tolist()[:7] == ["0", "1", "2", "3", "4", "5", "0"]
    assert columns["age"].dtype == np.float64
    assert np.isnan(columns["age"][0])
    assert columns["age"][1:4].tolist() == [1.0, 2.0, 3.0]


def test_ratings_become_scores() -> None:
    frame = pd.DataFrame({"y": Y, "decile": np.tile(np.arange(1, 11), len(Y) // 10 + 1)[: len(Y)]})
    scores = load(frame, outcome="y", score="decile", transform="tenths").scores
    assert scores[:10].tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
