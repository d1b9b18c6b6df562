"""The experiment of the beta-calibration paper: models and calibrators over repeated folds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.reproduce.published import textbook
from benchmarks.reproduce.sources import uci
from calib import metrics
from calib.calibrators import calibrator
from calib.numerics.arrays import single_thread
from calib.numerics.transforms import sigmoid

SETS = ("diabetes", "german", "ionosphere", "sonar", "vehicle", "wdbc")
METHODS = ("uncalibrated", "platt", "isotonic", "beta", "beta_am", "beta_ab", "spline")
MODELS = ("nb", "ada", "samme")
REPEATS, OUTER, INNER, STUMPS = 10, 5, 3, 200
Scores = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Task:
    """One repetition of the folds of one set, for models that share their fits."""

    data: str
    family: str  # The family is "nb" or "ada".
    repeat: int


def naive_bayes(x: np.ndarray, y: np.ndarray, new: np.ndarray) -> Scores:
    """Scores of new rows by Gaussian naive Bayes.

    scikit-learn adds a share of the largest feature's variance to all; once they are standardised
    it is nothing to any of them, as in the scikit-learn of the paper.
    """
    model = make_pipeline(StandardScaler(), GaussianNB())
    return {"nb": model.fit(x, y).predict_proba(new)[:, 1]}


def adaboost(x: np.ndarray, y: np.ndarray, new: np.ndarray) -> Scores:
    """Scores of new rows by boosted stumps, read in two ways.

    The original AdaBoost sends the sum of votes through the logistic link; SAMME, as scikit-learn
    has it, first divides it by the sum of weights, which crowds the scores around one half.
    """
    model = AdaBoostClassifier(n_estimators=STUMPS, random_state=0).fit(x, y)
    # The decision function of scikit-learn is twice the mean vote.
    vote = model.decision_function(new) / 2.0
    return {"ada": sigmoid(vote * model.estimator_weights_.sum()), "samme": sigmoid(vote)}


FAMILIES = {"nb": naive_bayes, "ada": adaboost}


def folds(y: np.ndarray, n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Stratified, shuffled folds."""
    return StratifiedKFold(n, shuffle=True, random_state=seed).split(y, y)


def run(task: Task) -> pd.DataFrame:
    """Log loss and Brier score of every outer fold, model and method."""
    x, y = uci(task.data)
    results = []
    with single_thread():
        for fold, (train, test) in enumerate(folds(y, OUTER, task.repeat)):
            for (model, method), p in predict(task, x, y, train, test).items():
                losses = metrics.log_loss(y[test], p), metrics.brier_score(y[test], p)
                results.append((task.data, model, method, task.repeat, fold, *losses))
    names = ["data", "model", "method", "repeat", "fold", "log_loss", "brier_score"]
    return pd.DataFrame(results, columns=names)


def predict(
    task: Task, x: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> dict[tuple[str, str], np.ndarray]:
    """Probabilities of the test rows: the mean over the inner folds' models and calibrators."""
    mean: dict[tuple[str, str], np.ndarray] = {}
    for fit_on, held_out in folds(y[train], INNER, task.repeat):
        fitted, kept = train[fit_on], train[held_out]
        new = np.concatenate([kept, test])
        for model, scores in FAMILIES[task.family](x[fitted], y[fitted], x[new]).items():
            # A sum of rounded likelihoods may exceed 1.
            scores = np.clip(scores, 0.0, 1.0)
            for method in METHODS:
                made = textbook(calibrator(method)).fit(scores[: len(kept)], y[kept])
                part = made.predict(scores[len(kept) :]) / INNER
                mean[model, method] = mean.get((model, method), 0.0) + part
    return mean


def run_all(repeats: int = REPEATS, sets: tuple[str, ...] = SETS) -> pd.DataFrame:
    """All repetitions, over the cores, with a progress bar on the terminal.

    Raises
    ------
    Absent
        If a data set is not here.
    """
    for name in sets:
        uci(name)
    # The longest tasks come first, so that no core is left with one at the end.
    tasks = [Task(d, f, r) for f, d, r in product(("ada", "nb"), sets, range(repeats))]
    parts = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        waiting = [pool.submit(run, task) for task in tasks]
        for done, future in enumerate(as_completed(waiting), start=1):
            parts.append(future.result())
            progress(done, len(tasks))
    return pd.concat(parts, ignore_index=True)


def progress(done: int, total: int) -> None:
    """One line that fills up."""
    filled = round(40 * done / total)
    end = "\n" if done == total else "\r"
    bar = "#" * filled + "." * (40 - filled)
    print(f"  [{bar}] {done}/{total}", end=end, file=sys.stderr, flush=True)
