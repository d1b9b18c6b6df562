"""MLflow: a report among a run's artifacts, and calibration metrics for its evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from calib.analysis import Analysis
from calib.data.cells import ScoreCells
from calib.metrics import brier_score, expected_calibration_error, ks_error, log_loss
from calib.reports import Report

__all__ = ["log_report", "metrics"]

METRICS: Mapping[str, Any] = {
    "ks_error": ks_error,
    "ece_quantile": lambda cells: expected_calibration_error(cells, n_bins=15, strategy="quantile"),
    "brier_score": brier_score,
    "log_loss": log_loss,
}


def log_report(
    result: Report | Analysis, *, run_id: str | None = None, artifact_path: str = "calib"
) -> None:
    """Log a report to an MLflow run: files, metrics and tags.

    The files are report.html and report.json. The metrics are those of the uncalibrated scores, for
    example ``calib/uncalibrated/ks_error``, and those of the recommended calibrator. The tags
    ``calib.verdict`` and ``calib.recommended`` contain the result, and ``calib.fingerprint``
    identifies the data.

    Parameters
    ----------
    result : Report or Analysis
    run_id : str, optional
        Default: the active run. If no run is active, a new run is started.
    artifact_path : str
        Folder of the files in the run, and prefix of the names of the metrics.

    Raises
    ------
    ImportError
        If MLflow is not installed.
    """
    import mlflow

    report = result if isinstance(result, Report) else Report.from_analysis(result)
    analysis = report.analysis
    run_id = run_id or (mlflow.active_run() or mlflow.start_run()).info.run_id
    recommended = analysis.recommendation.method
    metrics = {
        f"{artifact_path}/{method}/{key}": float(estimate.value)
        for method in dict.fromkeys(("uncalibrated", recommended or "uncalibrated"))
        if method in analysis.methods
        for key, estimate in analysis.methods[method].metrics.items()
        if math.isfinite(estimate.value)
    }
    mlflow.log_metrics(metrics, run_id=run_id)
    client = mlflow.MlflowClient()
    tags = {
        "verdict": analysis.verdict.sentence,
        "recommended": recommended or "",
        "fingerprint": analysis.data.fingerprint,
    }
    for name, text in tags.items():
        client.set_tag(run_id, f"calib.{name}", text)
    with TemporaryDirectory(prefix="calib-") as folder:
        for name in ("report.html", "report.json"):
            report.save(Path(folder) / name)
        mlflow.log_artifacts(folder, artifact_path, run_id=run_id)


def metrics() -> list[Any]:
    """Calibration metrics for ``mlflow.models.evaluate(..., extra_metrics=metrics())``.

    The column of predictions must contain probabilities of the positive class, and the targets must
    be 0 and 1. Do not pass `model_type="classifier"`: MLflow then expects labels as predictions.

    Returns
    -------
    list of mlflow.models.EvaluationMetric
        ks_error, ece_quantile (15 bins of equal counts), brier_score and log_loss.

    Raises
    ------
    ImportError
        If MLflow is not installed.
    """
    return [_metric(name, measure) for name, measure in METRICS.items()]


def _metric(name: str, measure: Any) -> Any:
    from mlflow.models import make_metric

    # MLflow passes its arguments by these names.
    def evaluated(predictions: Any, targets: Any) -> float:
        return float(measure(ScoreCells.from_arrays(targets, predictions)))

    return make_metric(eval_fn=evaluated, greater_is_better=False, name=name)


def __dir__() -> list[str]:
    return __all__
