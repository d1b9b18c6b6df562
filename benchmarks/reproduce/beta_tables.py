"""Names and tables of the beta-calibration study."""

from __future__ import annotations

from functools import partial
from itertools import product

from benchmarks.reproduce.beta_study import MODELS, SETS
from benchmarks.reproduce.published import Rows
from benchmarks.reproduce.tables import beside, markdown
from calib.calibrators import CALIBRATORS

LABELS = {key: CALIBRATORS[key].label for key in CALIBRATORS}
MODEL_LABELS = {
    "nb": "naive Bayes",
    "ada": "AdaBoost, original",
    "samme": "AdaBoost, scikit-learn's SAMME scores",
}
METRICS = {"log_loss": "loss", "brier_score": "brier"}
SAID = {"log_loss": "log loss", "brier_score": "Brier score"}
# The paper has these names.
THEIRS = {
    "uncalibrated": "uncal",
    "platt": "sigmoid",
    "isotonic": "isotonic",
    "beta": "beta",
    "beta_am": "beta_am(beta2)",
    "beta_ab": "beta_ab(beta05)",
}
# The paper compares four methods. Six includes the simpler variants of beta calibration.
FIELDS = {"four": ("uncalibrated", "platt", "isotonic", "beta"), "six": tuple(THEIRS)}
TESTS = {"Friedman": ".1f", "p": ".1g", "critical difference": ".2f"}


def named(model: str, data: str, method: str, metric: str) -> str:
    """Name of a mean loss."""
    return f"{MODEL_LABELS[model]}, {data}: {LABELS[method]}, {SAID[metric]}"


def ranked(field: str, model: str, metric: str, what: str) -> str:
    """Name of a rank or of a test."""
    return f"{MODEL_LABELS[model]}, {SAID[metric]}, {field} methods: {what}"


def table(rows: Rows) -> str:
    """A table a model and metric: data sets down, methods across, the paper's in brackets."""
    return "\n\n".join(
        f"**{MODEL_LABELS[model]}: {said}**\n\n{_pivot(rows, model, metric)}"
        for model, (metric, said) in product(MODELS, SAID.items())
        if named(model, SETS[0], "beta", metric) in rows
    )


def _pivot(rows: Rows, model: str, metric: str) -> str:
    columns = [k for k in (*THEIRS, "spline") if named(model, SETS[0], k, metric) in rows]
    lines = {
        data: [beside(rows[named(model, data, key, metric)]) for key in columns] for data in SETS
    }
    return markdown([LABELS[key] for key in columns], lines)


def rank_table(rows: Rows) -> str:
    """Mean ranks: models and metrics down, methods across, the paper's in brackets."""
    parts = []
    for field, methods in FIELDS.items():
        columns = [LABELS[key] for key in methods]
        lines = {}
        for model, (metric, said) in product(MODELS, SAID.items()):
            name = partial(ranked, field, model, metric)
            tests = [f"{rows[name(t)].ours:{form}}" for t, form in TESTS.items()]
            ranks = [beside(rows[name(label)]) for label in columns]
            lines[f"{MODEL_LABELS[model]}, {said}"] = ranks + tests
        parts.append(markdown([*columns, *TESTS], lines))
    return "\n\n".join(parts)
