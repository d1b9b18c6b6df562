"""Tables of predictions as programs for models, markets and clinics write them, with the truth."""

from __future__ import annotations

import io
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.data.predictions import Predictions
from calib.loading import InputWarning, load
from tests.fuzz.cases import Case
from tests.fuzz.foreign import Found

# Names of outcomes that tell, and others that may be those of any fact.
TELLING = (
    *("target", "outcome", "y", "default", "churn", "died", "readmitted", "is_fraud", "bad_flag"),
    *("label", "Class", "event", "converted"),
)
NEUTRAL = ("approved", "HeartDisease", "smoker", "late", "married", "Exited", "purchase")
WORDS = (
    *(("no", "yes"), ("0", "1"), ("benign", "malignant"), ("False", "True"), ("N", "Y")),
    *(("good", "bad"), ("stayed", "churned"), ("alive", "dead"), ("NEGATIVE", "POSITIVE")),
)
FLAGS = (
    "flag_phone",
    "married",
    "SeniorCitizen",
    "SEX",
    "neutral",
    "is_weekend",
    "public",
    "token",
)
FRACTIONS = (
    "utilization",
    "distance_to_center",
    "AMT_CREDIT_RATIO",
    "LGD",
    "device_trust",
    "bmi_n",
)
NUMBERS = ("age", "bmi", "cost", "weight", "wt", "height", "LOS", "balance")
IDS = ("id", "row_id", "customer_id", "SampleId", "loan_id", "EVENT_ID", "patient")


@dataclass(slots=True)
class Rows:
    """Rows whose truth is known, and how they are written."""

    rng: random.Random
    outcome: str
    words: tuple[str, str]
    y: np.ndarray
    p: np.ndarray
    threshold: float
    digits: int

    @classmethod
    def of(cls, rng: random.Random) -> Rows:
        numbers = np.random.default_rng(rng.randrange(2**32))
        n = rng.choice([60, 90, 140, 300])
        # Models are informative, and some are badly calibrated.
        logit = numbers.normal(rng.choice([-1.5, 0.0, 0.5]), rng.choice([1.5, 2.5]), n)
        y = (numbers.random(n) < 1.0 / (1.0 + np.exp(-logit))).astype(int)
        y[:4] = [0, 1, 0, 1]
        shown = rng.choice([0.6, 1.0, 1.0, 1.5]) * logit + rng.choice([0.0, 0.0, 0.4])
        digits = rng.choice([3, 4, 6, 9, 16])
        p = np.round(1.0 / (1.0 + np.exp(-shown)), digits)
        outcome = rng.choice(TELLING + NEUTRAL)
        threshold = rng.choice([0.5, 0.5, 0.5, 0.3, 0.12])
        return cls(rng, outcome, rng.choice(WORDS), y, p, threshold, digits)

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def other(self) -> np.ndarray:
        return np.round(1.0 - self.p, self.digits)

    @property
    def predicted(self) -> np.ndarray:
        return (self.p >= self.threshold).astype(int)

    @property
    def highest(self) -> np.ndarray:
        return (self.p >= 0.5).astype(int)

    @property
    def confidence(self) -> np.ndarray:
        return np.maximum(self.p, self.other)

    def labels(self, values: np.ndarray) -> list[str]:
        return [self.words[value] for value in values]

    def truth(self) -> list[str]:
        return self.labels(self.y)

    def of_model(self) -> str:
        return self.rng.choice(["rf", "xgb", "glm"])


Columns = dict[str, Any]
FAMILIES: dict[str, Callable[[Rows], tuple[Columns, str]]] = {}


def family(make: Callable[[Rows], tuple[Columns, str]]) -> Callable[[Rows], tuple[Columns, str]]:
    """Register a kind of file: its columns, and which reading is true.

    The readings: "score" (outcome and p), "right" (right or wrong, and the confidence), either of
    both ("either"), or "none", if the file has no outcomes.
    """
    FAMILIES[make.__name__.strip("_")] = make
    return make


@family
def _tidymodels(r: Rows) -> tuple[Columns, str]:
    no, yes = r.words
    return {
        f".pred_{no}": r.other,
        f".pred_{yes}": r.p,
        ".pred_class": r.labels(r.predicted),
        r.outcome: r.truth(),
    }, "score"


@family
def _mlr3(r: Rows) -> tuple[Columns, str]:
    no, yes = r.words
    return {
        "row_ids": range(1, r.n + 1),
        "truth": r.truth(),
        "response": r.labels(r.predicted),
        f"prob.{no}": r.other,
        f"prob.{yes}": r.p,
    }, "score"


@family
def _caret(r: Rows) -> tuple[Columns, str]:
    no, yes = r.words
    return {
        "pred": r.labels(r.highest),
        "obs": r.truth(),
        no: r.other,
        yes: r.p,
        "rowIndex": range(r.n),
        "mtry": [2] * r.n,
        "Resample": [f"Fold{i % 5}" for i in range(r.n)],
    }, "score"


@family
def _catboost(r: Rows) -> tuple[Columns, str]:
    r.words = ("0", "1")
    return {"SampleId": range(r.n), "Probability": r.p, "Class": r.predicted, "Label": r.y}, "score"


@family
def _h2o(r: Rows) -> tuple[Columns, str]:
    no, yes = r.words
    return {
        "predict": r.labels(r.predicted),
        f"p{no}": r.other,
        f"p{yes}": r.p,
        r.outcome: r.truth(),
    }, "score"


@family
def _azure(r: Rows) -> tuple[Columns, str]:
    return {
        r.outcome: r.truth(),
        "Scored Labels": r.labels(r.highest),
        "Scored Probabilities": r.p,
    }, "score"


@family
def _knime(r: Rows) -> tuple[Columns, str]:
    no, yes = r.words
    name = r.outcome
    return {
        name: r.truth(),
        f"P ({name}={no})": r.other,
        f"P ({name}={yes})": r.p,
        f"Prediction ({name})": r.labels(r.highest),
        f"Prediction ({name}) (Confidence)": r.confidence,
    }, "score"


@family
def _rapidminer(r: Rows) -> tuple[Columns, str]:
    no, yes = r.words
    name = r.outcome
    return {
        name: r.truth(),
        f"prediction({name})": r.labels(r.highest),
        f"confidence({no})": r.other,
        f"confidence({yes})": r.p,
    }, "score"


@family
def _spss(r: Rows) -> tuple[Columns, str]:
    return {r.outcome: r.y, "PGR_1": r.highest, "PRE_1": r.p}, "score"


@family
def _modeler(r: Rows) -> tuple[Columns, str]:
    name = r.outcome
    return {
        name: r.truth(),
        f"$N-{name}": r.labels(r.highest),
        f"$NC-{name}": r.confidence,
        f"$NRP-{name}": r.p,
    }, "score"


@family
def _modeler_confidence(r: Rows) -> tuple[Columns, str]:
    name = r.outcome
    return {
        name: r.truth(),
        f"$N-{name}": r.labels(r.highest),
        f"$NC-{name}": r.confidence,
    }, "right"


@family
def _enterprise_miner(r: Rows) -> tuple[Columns, str]:
    return {
        r.outcome: r.truth(),
        "EM_CLASSIFICATION": r.labels(r.highest),
        "EM_EVENTPROBABILITY": r.p,
        "EM_PROBABILITY": r.confidence,
    }, "score"


@family
def _sas(r: Rows) -> tuple[Columns, str]:
    no, yes = r.words
    name = r.outcome
    return {
        name: r.truth(),
        f"F_{name}": r.truth(),
        f"I_{name}": r.labels(r.highest),
        f"P_{name}{no}": r.other,
        f"P_{name}{yes}": r.p,
    }, "score"


@family
def _text_classifier(r: Rows) -> tuple[Columns, str]:
    truth = r.rng.choice(["actual", "true_label", "ground_truth", "gold", "y_true"])
    return {
        "text": [f"t{i}" for i in range(r.n)],
        "label": r.labels(r.highest),
        "score": r.confidence,
        truth: r.truth(),
    }, "right"


@family
def _predicted_and_confidence(r: Rows) -> tuple[Columns, str]:
    return {
        r.rng.choice(["gold", "label", "target"]): r.truth(),
        "pred": r.labels(r.highest),
        r.rng.choice(["score", "confidence", "prob"]): r.confidence,
    }, "right"


@family
def _monitoring(r: Rows) -> tuple[Columns, str]:
    return {"prediction": r.predicted, "predicted_probability": r.p, r.outcome: r.y}, "score"


@family
def _marketplace(r: Rows) -> tuple[Columns, str]:
    name = r.rng.choice(["winner", "resolution", "Resolution", "result", "home_won"])
    return {
        "question": [f"Will {i}, happen?" for i in range(r.n)],
        "price": r.p,
        name: r.labels(r.y),
    }, "score"


@family
def _forecasts(r: Rows) -> tuple[Columns, str]:
    r.words = ("NO", "YES")
    return {
        "Forecast (scale = 0-1)": r.p,
        "Resolution": r.truth(),
        "Your Brier score": np.round((r.p - r.y) ** 2, 4),
    }, "score"


@family
def _no_outcomes(r: Rows) -> tuple[Columns, str]:
    name = r.rng.choice(["status", "predicted", "prediction", "label", "decision", "Class"])
    return {"row_id": range(r.n), name: r.labels(r.predicted), "probability": r.p}, "none"


@family
def _no_outcomes_of_two_classes(r: Rows) -> tuple[Columns, str]:
    no, yes = r.words
    return {
        f"{r.outcome}_{yes}_PREDICTION": r.p,
        f"{r.outcome}_{no}_PREDICTION": r.other,
        f"{r.outcome}_PREDICTION": r.labels(r.predicted),
    }, "none"


@family
def _deployment(r: Rows) -> tuple[Columns, str]:
    no, yes = r.words
    name = r.outcome
    return {
        name: r.truth(),
        f"{name}_{yes}_PREDICTION": r.p,
        f"{name}_{no}_PREDICTION": r.other,
        f"{name}_PREDICTION": r.labels(r.predicted),
        "THRESHOLD": [r.threshold] * r.n,
        "POSITIVE_CLASS": [yes] * r.n,
    }, "score"


@family
def _clinic(r: Rows) -> tuple[Columns, str]:
    return {"patient": range(r.n), "died": r.y, "risk": r.p}, "score"


@family
def _regression_output(r: Rows) -> tuple[Columns, str]:
    return {
        r.outcome: r.y,
        ".fitted": r.p,
        ".resid": r.y - r.p,
        ".hat": np.round(r.p / 20.0, 4),
        ".cooksd": np.round(r.other / 40.0, 5),
        ".std.resid": np.round((r.y - r.p) / 0.4, 4),
    }, "score"


@family
def _stata(r: Rows) -> tuple[Columns, str]:
    with np.errstate(divide="ignore"):
        xb = np.clip(np.log(r.p / np.maximum(1.0 - r.p, 1e-9)), -9, 9)
    return {r.outcome: r.y, "phat": r.p, "xb": np.round(xb, 5), "_est_m1": [1] * r.n}, "score"


@family
def _explained(r: Rows) -> tuple[Columns, str]:
    return {
        r.outcome: r.y,
        r.rng.choice(["prob", "score", "prediction_prob"]): r.p,
        "shap_age": np.round(r.other + 1e-3, 4),
    }, "score"


@family
def _fraud(r: Rows) -> tuple[Columns, str]:
    r.p = np.round(r.p / 50.0, 6)
    r.y = (np.random.default_rng(r.n).random(r.n) < 4 * r.p).astype(int)
    r.y[:10] = 1
    r.digits, r.words = 6, ("0", "1")
    return {"is_fraud": r.y, r.rng.choice(["score", "prob"]): r.p}, "score"


@family
def _out_of_fold(r: Rows) -> tuple[Columns, str]:
    model = r.of_model()
    return {r.outcome: r.truth(), f"{model}_oof": r.p, "fold": np.arange(r.n) % 5}, "score"


@family
def _judged_answers(r: Rows) -> tuple[Columns, str]:
    r.words = ("False", "True")
    return {
        "trace": [f"t{i}" for i in range(r.n)],
        "scores.correctness": r.y,
        "scores.confidence": r.p,
        "scores.toxicity": np.round(r.other / 9.0, 3),
        "bookmarked": ["False", "True"] * (r.n // 2),
    }, "score"


@family
def _plain(r: Rows) -> tuple[Columns, str]:
    score = r.rng.choice(["p", "prob", "score", "y_prob", "risk", "probability", "pred_proba"])
    return {r.outcome: r.truth(), score: r.p}, "score"


@family
def _unnamed_score(r: Rows) -> tuple[Columns, str]:
    return {r.outcome: r.truth(), r.rng.choice(["random_forest", "model_a", "bert"]): r.p}, "score"


def model_file_case(rng: random.Random) -> Case:
    """A table of one of the families, with other columns around it."""
    rows = Rows.of(rng)
    name = rng.choice(list(FAMILIES))
    columns, reading = FAMILIES[name](rows)
    columns = dict(columns)
    numbers = np.random.default_rng(rng.randrange(2**32))
    if rng.random() < 0.6:
        columns |= _features(rows, numbers, set(columns))
    order = list(columns)
    if rng.random() < 0.5:
        rng.shuffle(order)
    frame = pd.DataFrame({column: list(columns[column]) for column in order})
    stream = io.StringIO()
    frame.to_csv(stream, index=rng.random() < 0.2)
    data = stream.getvalue().encode()

    def wrong(found: Found) -> str:
        return _wrong(found.models[""], rows, reading)

    return Case(data, _read, wrong, note=f"{name}, {reading}", told=lambda found: bool(found.said))


def _features(rows: Rows, numbers: np.random.Generator, taken: set[str]) -> Columns:
    rng, n = rows.rng, rows.n
    made: Columns = {}
    for name in rng.sample(FLAGS, rng.randint(0, 2)):
        words = rng.choice([(0, 1), (1, 2), ("no", "yes"), ("F", "M")])
        made[name] = [words[k] for k in numbers.integers(0, 2, n)]
    for name in rng.sample(FRACTIONS, rng.randint(0, 2)):
        near_one = 1.0 - numbers.random(n) / 200.0
        made[name] = np.round(near_one if name == "device_trust" else numbers.random(n), 4)
    for name in rng.sample(NUMBERS, rng.randint(0, 2)):
        made[name] = np.round(numbers.normal(70, 12, n), rng.choice([0, 1]))
    if rng.random() < 0.5:
        made[rng.choice(IDS)] = 1000 + np.arange(n)
    return {name: values for name, values in made.items() if name not in taken}


def _read(data: bytes) -> Found:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = load(data, name="rows.csv")
    for one in caught:
        if not issubclass(one.category, InputWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return Found({"": found}, [str(one.message) for one in caught])


def _wrong(found: Predictions, rows: Rows, reading: str) -> str:
    if reading == "none":
        return f"no outcomes were read as {found.read_as}"
    if found.scores.ndim != 1 or len(found.outcome) != rows.n:
        return f"read as {found.read_as}"
    if found.weight is not None:
        return f"weights were read: {found.read_as}"
    truths = {"score": (rows.y, rows.p)}
    truths["right"] = (rows.highest == rows.y).astype(int), rows.confidence
    outcome, score = truths[reading]
    own = found.outcome, found.scores
    mirrored = 1 - found.outcome, 1.0 - found.scores
    for y, p in (own, mirrored):
        if (y == outcome).all() and np.abs(p - score).max() < 1e-3:
            return ""
    return f"read as {found.read_as}"
