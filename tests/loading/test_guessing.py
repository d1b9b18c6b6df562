"""Guesses on real files, and on tables whose meaning is plain to a person."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib.loading import Columns, InputError, guess, load, read
from calib.loading.checking.inspection import checklist_of, examine
from tests.golden import Texts

FILES = {
    "adult/adult_nb_cal.csv": ("y", "score", "1"),
    "corp/SF.FC.C1.csv": ("rlz.C1", None, "1"),
    "corp/precip_Niamey_2016.csv": ("obs", "Logistic", "1"),
    "corp/recid.csv": ("two_year_recid", "gbmpredprobs", "1"),  # It fits best of several.
    "corp/BROWARD_CLEAN.csv": ("two_year_recid", "compas_decile_score", "1"),
    "forecasts/538_nfl_games.csv": ("prob1_outcome", "prob1", "1"),  # Ties are left out.
    "forecasts/538_nba_games.csv": ("prob1_outcome", "prob1", "1"),
}


@pytest.mark.parametrize("file", FILES)
def test_real_files(shared: Path, file: str) -> None:
    outcome, score, positive = FILES[file]
    mapping = guess(read(shared / "data" / file))
    assert mapping.outcome == outcome
    assert score is None or mapping.score == score
    assert mapping.positive == positive


def test_top_label_confidence(shared: Path) -> None:
    mapping = guess(read(shared / "data/cnn/resnet110_cifar10_top1.parquet"))
    assert (mapping.outcome, mapping.score) == ("true_label", "confidence")
    assert mapping.predicted == "pred_label"


@pytest.mark.parametrize(
    ("columns", "outcome", "score"),
    [
        ({"y_true": [0, 1], "y_prob": [0.2, 0.7]}, "y_true", "y_prob"),
        ({"prob": [0.2, 0.7], "label": ["a", "b"]}, "label", "prob"),
        ({"Target": [0, 1], "y_pred": [0, 1], "y_score": [0.3, 0.6]}, "Target", "y_score"),
        ({"a": [0.2, 0.7], "b": [True, False]}, "b", "a"),
        ({"class": ["no", "yes"], "P(yes)": [0.1, 0.8]}, "class", "P(yes)"),
        ({"outcome": [0, 1], "logit": [-1.5, 2.0]}, "outcome", "logit"),
        ({"id": [7, 8], "sex": [0, 1], "actual": [1, 0], "risk": [0.1, 0.4]}, "actual", "risk"),
    ],
)
def test_names_and_contents(columns: dict[str, list[object]], outcome: str, score: str) -> None:
    mapping = guess(read(pd.DataFrame(columns)))
    assert (mapping.outcome, mapping.score) == (outcome, score)


def answers(column: str, **more: list[object]) -> pd.DataFrame:
    """Three questions, each answered twice."""
    ids = ["q1", "q2", "q3"] * 2
    confidence = [0.2, 0.7, 0.9, 0.4, 0.6, 0.8]
    rows = {column: ids, "confidence": confidence, "correct": [0, 1] * 3}
    return pd.DataFrame(rows | more)


@pytest.mark.parametrize("column", ["sample_id", "question_id", "doc_id"])
def test_questions_that_were_answered_several_times_are_clusters(column: str) -> None:
    frame = answers(column)
    mapping = guess(read(frame))
    assert mapping.group == column
    assert "group" in mapping.guessed
    predictions = load(frame)
    assert predictions.group is not None
    assert predictions.group.tolist() == [0, 1, 2] * 2
    # Ids of single rows are no clusters, and only answers are asked for more than once.
    assert guess(read(frame.head(3))).group is None
    assert guess(read(frame.rename(columns={"correct": "y"}))).group is None


def test_questions_that_every_model_answered_once_are_no_clusters() -> None:
    models: list[object] = ["a"] * 3 + ["b"] * 3
    table = read(answers("sample_id", model=models))
    assert guess(table, Columns(model="model"), models=True).group is None
    # Rows that are read as rows of one model are not independent.
    assert guess(table).group == "sample_id"


@pytest.mark.parametrize(
    ("column", "source"),
    [("verbalized_confidence", "stated by the model"), ("p_true", "a token probability")],
)
def test_the_source_of_a_confidence_is_told_if_its_name_shows_it(column: str, source: str) -> None:
    table = read(answers("sample_id").rename(columns={"confidence": column}))
    mapping = guess(table)
    assert mapping.score == column
    checklist = checklist_of(examine(table, mapping)[1])
    assert any(source in line for line in checklist)
    plain = read(answers("sample_id"))
    assert not any("Source" in text for text in checklist_of(examine(plain, guess(plain))[1]))


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        ([0, 1], "1"),
        ([0.0, 1.0], "1"),
        ([-1, 1], "1"),
        ([True, False], "True"),
        (["no", "Yes"], "Yes"),
        (["malignant", "benign"], "malignant"),
        ([1, 2], None),
    ],
)
def test_positive_by_its_name(labels: list[object], positive: str | None) -> None:
    assert guess(read(pd.DataFrame({"y": labels, "p": [0.5, 0.6]}))).positive == positive


def test_positive_by_its_scores() -> None:
    table = read("y,p\nham,0.1\nspinach,0.8\nham,0.3\nspinach,0.6\n")
    assert guess(table).positive == "spinach"


def test_split_weight_group_time_and_slices() -> None:
    table = read(
        "y,p,split,sample_weight,cluster,date,sex\n"
        "0,0.1,cal,1,3,2020-01-01,f\n1,0.9,test,2,4,2020-01-02,m\n0,0.3,test,1,5,2020-01-03,f\n"
    )
    mapping = guess(table)
    assert (mapping.split, mapping.test_value) == ("split", "test")
    assert (mapping.weight, mapping.group, mapping.time) == ("sample_weight", "cluster", "date")
    assert mapping.slices == ("sex",)


def test_folds_are_no_split() -> None:
    mapping = guess(read("y,p,fold\n0,0.1,0\n1,0.9,1\n0,0.3,2\n"))
    assert (mapping.split, mapping.fold) == (None, "fold")


def folds(column: str, *values: object) -> str:
    rows = [f"{i % 2},0.{i % 7 + 1},{value}\n" for i, value in enumerate(values)]
    return "".join([f"y,p,{column}\n", *rows])


@pytest.mark.parametrize(
    "column", ["fold", "Fold", "cv_fold", "CV fold", "kfold", "k-fold", "folds"]
)
def test_folds_are_found_by_name(column: str) -> None:
    mapping = guess(read(folds(column, *"abcabcab")))
    assert mapping.fold == column
    assert "fold" in mapping.guessed


def test_folds_of_a_file_that_is_sorted_by_them_are_found() -> None:
    text = folds("fold", *np.repeat([1, 2, 3], 6_000))
    assert guess(read(text)).fold == "fold"


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("fold", [1] * 40),
        ("fold", range(40)),
        ("fold", ["a", "b", "", "a", "b"]),
        ("folder", [1, 2] * 20),
        ("fold", ["test", "train"] * 20),
    ],
)
def test_what_is_no_fold_is_not_taken_for_one(column: str, values: Iterable[object]) -> None:
    assert guess(read(folds(column, *values))).fold is None


def test_what_is_known_is_kept() -> None:
    table = read("y,z,p,q\n0,1,0.1,0.4\n1,0,0.9,0.6\n0,1,0.2,0.7\n")
    mapping = guess(table, Columns(outcome="z", score="q"))
    assert (mapping.outcome, mapping.score, mapping.positive) == ("z", "q", "1")


@pytest.mark.parametrize(
    "known", [{"outcome": "z"}, {"split": "z"}, {"outcome": "z", "score": "p", "positive": "1"}]
)
def test_a_name_that_is_not_there_is_told(known: dict[str, str], texts: Texts) -> None:
    with texts.raises(InputError):
        load("y,p\n0,0.2\n1,0.7\n1,0.9\n0,0.4\n", **known)


def test_labels_scores_and_ids_are_told_apart() -> None:
    mapping = guess(read("id,label,proba\n7,yes,0.8\n8,no,0.3\n9,no,0.45\n"))
    assert (mapping.outcome, mapping.score, mapping.positive) == ("label", "proba", "yes")
