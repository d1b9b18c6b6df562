"""Summary of the data, columns of the table, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.analysis.analysis import Column, DataSummary
from calib.calibrators import CALIBRATORS, Calibrator
from calib.calibrators.falls import largest_fall
from calib.crossfit.cross_fitted import LOSSES, CrossFitted
from calib.crossfit.folds import n_positive
from calib.crossfit.settings import Settings
from calib.data.base import Data
from calib.data.cells import REVERSED, ScoreCells
from calib.data.origin import Remark
from calib.data.views import parse_view
from calib.metrics import METRICS, certain_and_wrong
from calib.metrics.proper import log_loss_range
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import Estimate
from calib.numerics.score_grid import middles, written
from calib.text import decimals, joined, number, percent, plural, significant


@dataclass(frozen=True, slots=True)
class TableMetric:
    """A column of the table that shows a metric.

    In the texts, {n} and {strategy} are replaced by the number of bins and the strategy.

    Attributes
    ----------
    key : str
        Key of the metric.
    detail : str
        Text after the name of the metric.
    label, meaning : str
        Texts in place of the name and the meaning of the metric.
    """

    key: str
    detail: str = ""
    label: str = ""
    meaning: str = ""


TABLE = {
    "log_loss": TableMetric("log_loss"),
    "brier_score": TableMetric("brier_score"),
    "ece_uniform": TableMetric("expected_calibration_error", ", {n} uniform bins"),
    "ece_quantile": TableMetric("expected_calibration_error", ", {n} quantile bins"),
    "mce": TableMetric(
        "expected_calibration_error",
        label="MCE, {n} {strategy} bins",
        meaning="Largest gap between observed frequency and mean score in {n} {strategy} bins.",
    ),
    "ks_error": TableMetric("ks_error"),
    "slope": TableMetric("calibration_slope_intercept"),
    "auc": TableMetric("auc"),
    "distinct": TableMetric("distinct_scores"),
}


def table_metric(column: str) -> TableMetric:
    """The column for a key: one of `TABLE`, or a metric that the settings add."""
    return TABLE.get(column) or TableMetric(column)


def is_error(column: str) -> bool:
    """Whether a column is a calibration error, which has an upward bias from noise.

    The answer is False if no metric is registered for the column, for example because it was
    added by a package that is not installed.
    """
    key = table_metric(column).key
    return key in METRICS and METRICS[key].interval == "error"


def added_metrics(settings: Settings) -> tuple[str, ...]:
    """Metrics that the settings add to those of every table."""
    shown = {metric.key for metric in TABLE.values()}
    return tuple(key for key in settings.metrics if key not in shown)


# With fewer clusters, resamples of clusters do not show well how clusters vary.
MIN_CLUSTERS = 40
GROUPED = "grouped"  # Code of the warning about cells with several scores.
# Headings of columns show at most this many characters of the name of a class.
MAX_NAME_LENGTH = 24


def table_columns(settings: Settings, of_matrix: str = "") -> tuple[Column, ...]:
    """Columns of the metric table, in order: those of `TABLE`, then what the settings add.

    `of_matrix` describes the positive rows in the view of a matrix; it is "" for one score per row.
    """
    words = {"n": settings.n_bins, "strategy": settings.strategy}

    def column(key: str, shown: TableMetric) -> Column:
        entry = METRICS[shown.key]
        label = (shown.label or entry.label + shown.detail).format(**words)
        if of_matrix and key in LOSSES:
            label = _loss_of_view(label, settings.view, of_matrix)
        meaning = (shown.meaning or entry.meaning).format(**words)
        return Column(key, label, meaning, entry.digits, entry.better, entry.convention)

    return tuple(column(key, table_metric(key)) for key in (*TABLE, *added_metrics(settings)))


def _loss_of_view(label: str, view: str, positive_name: str) -> str:
    """For example "Top-label log loss"."""
    kind, rank = parse_view(view)
    if kind == "class":
        name = " ".join(positive_name.split())
        short = name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 1]}…"
        return f"{label}, class {short}"
    place = "label" if rank == 1 else str(rank)
    first = f"Top-{place}" if kind == "top" else f"Within-top-{rank}"
    return f"{first} {label.replace('Log', 'log')}"


def names_of(predictions: Data) -> dict[str, Any]:
    """Names of the data, and how they were read. No number depends on them."""
    return {
        "name": predictions.name,
        "score_name": predictions.score_name,
        "outcome_name": predictions.outcome_name,
        "set_aside": dict(predictions.set_aside),
        "origin": predictions.origin and predictions.origin.stated(),
    }


def summarize(predictions: Data, view: str, held_out: CrossFitted) -> DataSummary:
    scored = held_out.cells["uncalibrated"]
    return DataSummary(
        **names_of(predictions),
        fingerprint=predictions.fingerprint,
        positive_name=predictions.view_label(view),
        n_rows=held_out.rows.n_rows,
        n_calibration=held_out.fitted_on.n_rows,
        n_positive=n_positive(held_out.rows),
        base_rate=scored.base_rate,
        mean_score=scored.mean_score,
        n_distinct=len(scored),
        protocol=held_out.protocol,
        weighted=held_out.rows.weight is not None,
        named_folds=len(predictions.fold_names),
    )


def warnings_of(predictions: Data, held_out: CrossFitted, method: str) -> tuple[str, ...]:
    """Limitations of the data or the results, one sentence each.

    `method` is the recommended calibrator, or "" if there is none of one score per row.
    """
    scored = held_out.cells["uncalibrated"]
    sentences = [*predictions.remarks, *held_out.failures.values()]
    if held_out.rows.group is not None:
        n = len(np.unique(held_out.rows.group))
        few = f" {n:,} clusters are few, so these results are approximate."
        sentences.append(
            f"Rows come in {n:,} clusters: tests, intervals, error bars and bands account for "
            f"this.{few if n < MIN_CLUSTERS else ''}"
        )
    # The remarks of a scan already say this, with the name of the column.
    is_stated = any(one.code in ("swapped", "which-class") for one in predictions.remarks)
    if scored.is_reversed and not (predictions.is_matrix or is_stated):
        sentence = (
            f"{REVERSED} (AUC {number(scored.auc, 3)}): the scores may be probabilities of the "
            "negative class."
        )
        sentences.append(Remark(sentence, "swapped"))
    sentences += _digits(scored)
    if bounds := held_out.resolution.get("uncalibrated"):
        sentences.append(Remark(grouped_scores(len(scored), bounds), GROUPED))
    if len(scored) < 20:
        sentences.append(
            f"Only {len(scored)} distinct score{'' if len(scored) == 1 else 's'}: curves cannot "
            "have more points than that."
        )
    fitted = held_out.calibrators.get(method)
    if isinstance(fitted, Calibrator) and (fall := largest_fall(fitted)):
        sentences.append(
            f"{CALIBRATORS[method].short_label} {fall.words}: rows with higher scores get lower "
            "probabilities there."
        )
    return tuple(sentences)


def grouped_scores(n_cells: int, bounds: Mapping[str, float]) -> str:
    """Say that cells hold several scores, and how far that changes each metric."""
    loss, ks, area = (significant(bounds[name], 1) for name in ("log_loss", "ks_error", "auc"))
    return (
        f"Scores are grouped into {n_cells:,} cells. For the uncalibrated scores, this changes log "
        f"loss by at most {loss}, KS by {ks} and AUC by {area}."
    )


def _digits(scored: ScoreCells) -> Iterator[str]:
    """What the step of the scores means, and the log loss if it is not one number."""
    low, high = scored.ranges
    certain = (low == 0.0) | (high == 1.0)
    if scored.named_step:
        step, half = written(scored.step), written(scored.step / 2.0)
        yield (
            f"The scores have steps of {step}, so each stands for every value within {half} of it. "
            "A test rejects only if it would for all of these values."
        )
    if scored.step and certain.any():
        share = percent(float(scored.weight[certain].sum()) / scored.total_weight)
        zero, one = map(written, middles(np.array([0.0, 1.0]), scored.step).tolist())
        yield (
            f"{share} of the rows have a score of 0 or 1 at this precision. Calibrators and "
            f"metrics read 0 as {zero} and 1 as {one}, the middle of what these stand for."
        )
    wrong = [*_certain_and_wrong(scored, low, high)]
    least, most = log_loss_range(scored)
    if wrong:
        yield f"{joined(wrong)}, so the log loss is at least {number(least, 3)}."
    elif scored.named_step:
        digits = decimals(Estimate(least, least, most), most=6)
        yield f"The log loss is between {number(least, digits)} and {number(most, digits)}."


def _certain_and_wrong(scored: ScoreCells, low: FloatArray, high: FloatArray) -> Iterator[str]:
    """Which rows have a score of 0 or 1 that was wrong."""
    ends = ((low == 0.0, 0, "positive"), (high == 1.0, 1, "negative"))
    for chosen, score, outcome in ends:
        cells = scored.pick(np.flatnonzero(chosen), np.full(int(chosen.sum()), float(score)))
        n = int(certain_and_wrong(cells)) if len(cells) else 0
        if n:
            verbs = ("has", "was") if n == 1 else ("have", "were")
            yield f"{plural(n, 'row')} {verbs[0]} score {score} but {verbs[1]} {outcome}"
