"""What an analysis says of the data and of its own table, in numbers and sentences."""

from __future__ import annotations

import numpy as np

from calib.analysis.results import Column, DataSummary
from calib.core.aggregate import Aggregate
from calib.core.cells import ScoreCells
from calib.core.predictions import Predictions, parse_view
from calib.crossfit.comparison import LOSSES, CrossFitted
from calib.metrics import (
    METRICS,
    certain_and_wrong,
)
from calib.settings import Settings
from calib.text import significant

# Below, even resampled clusters do not show how clusters vary.
FEW_CLUSTERS = 40
# Of a class in the heading of a column.
LONGEST_NAME = 24


def table_columns(settings: Settings, of_matrix: str = "") -> tuple[Column, ...]:
    """Columns of the metric table, in order.

    Parameters
    ----------
    settings : Settings
    of_matrix : str
        What a positive row is in the view of a matrix, which has losses of all classes too; "" of
        one score.
    """

    def column(key: str, metric: str, detail: str = "", digits: int = 4) -> Column:
        entry = METRICS[metric]
        label = f"{entry.label}{detail}"
        if of_matrix and key in LOSSES:
            label = _loss_of_view(label, settings.view, of_matrix)
        return Column(key, label, entry.meaning, digits, entry.better, entry.convention)

    ece, n = "expected_calibration_error", settings.n_bins
    mce = f"Largest gap between observed frequency and mean score in {n} {settings.strategy} bins."
    return (
        column("log_loss", "log_loss"),
        column("brier_score", "brier_score"),
        column("ece_uniform", ece, f", {n} uniform bins"),
        column("ece_quantile", ece, f", {n} quantile bins"),
        Column("mce", f"MCE, {n} {settings.strategy} bins", mce),
        column("ks_error", "ks_error"),
        column("slope", "calibration_slope_intercept", digits=3),
        column("auc", "auc"),
        column("distinct", "distinct_scores", digits=0),
    )


def _loss_of_view(label: str, view: str, positive_name: str) -> str:
    """Name of the loss of one view: Top-label log loss; Log loss, class ship."""
    kind, rank = parse_view(view)
    if kind == "class":
        name = " ".join(positive_name.split())
        short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        return f"{label}, class {short}"
    place = "label" if rank == 1 else str(rank)
    first = f"Top-{place}" if kind == "top" else f"Within-top-{rank}"
    return f"{first} {label.replace('Log', 'log')}"


def summarize(
    predictions: Predictions | Aggregate, view: str, held_out: CrossFitted, scored: ScoreCells
) -> DataSummary:
    """What the data are, in numbers."""
    return DataSummary(
        name=predictions.name,
        fingerprint=predictions.fingerprint,
        score_name=predictions.score_name,
        outcome_name=predictions.outcome_name,
        positive_name=predictions.view_label(view),
        n_rows=held_out.rows.n_rows,
        n_calibration=held_out.fitted_on.n_rows,
        n_positive=int(held_out.rows.counts[held_out.rows.outcome].sum()),
        base_rate=scored.base_rate,
        mean_score=scored.mean_score,
        n_distinct=len(scored),
        protocol=held_out.protocol,
        weighted=held_out.rows.weight is not None,
        set_aside=dict(predictions.set_aside),
        origin=predictions.origin and predictions.origin.stated(),
        named_folds=len(predictions.fold_names),
    )


def warnings_of(held_out: CrossFitted, scored: ScoreCells) -> tuple[str, ...]:
    """What a reader should know before believing the numbers."""
    found = list(held_out.failures.values())
    if held_out.rows.group is not None:
        found.append(_clusters(len(np.unique(held_out.rows.group))))
    wrong = int(certain_and_wrong(scored))
    if wrong:
        scores = "certain score was" if wrong == 1 else "certain scores were"
        found.append(
            f"{wrong:,} {scores} wrong (exactly 0 or 1, and the other outcome came): "
            "how far log loss clips them decides its value."
        )
    if bounds := held_out.resolution.get("uncalibrated"):
        loss, ks, area = (significant(bounds[name], 1) for name in ("log_loss", "ks_error", "auc"))
        found.append(
            f"Scores are grouped into {len(scored):,} cells. For the uncalibrated scores, log loss "
            f"is certain to {loss}, KS to {ks} and AUC to {area}."
        )
    if len(scored) < 20:
        found.append(
            f"Only {len(scored)} distinct score{'' if len(scored) == 1 else 's'}: curves have that "
            "many points and no more."
        )
    return tuple(found)


def _clusters(n: int) -> str:
    few = f" {n:,} clusters are few: all of it is rough." if n < FEW_CLUSTERS else ""
    return f"Rows come in {n:,} clusters: tests, intervals, bars and bands go by cluster.{few}"
