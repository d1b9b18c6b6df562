"""MLflow, the real package: these run where it is installed (`make test-mlflow`)."""

import numpy as np
import pandas as pd
import pytest

import calib

mlflow = pytest.importorskip(
    "mlflow", minversion="3", reason="MLflow 3 is not here: skipped", exc_type=ImportError
)
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(autouse=True)
def tracking(tmp_path):
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    mlflow.create_experiment("calib", artifact_location=(tmp_path / "files").as_uri())
    mlflow.set_experiment("calib")
    yield
    mlflow.end_run()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    return pd.DataFrame({"y": (rng.random(2000) < p**2).astype(int), "p": p})


@pytest.fixture(scope="module")
def analysis(frame):
    settings = calib.Settings(methods=("uncalibrated", "beta"))
    return calib.from_predictions(frame["y"], frame["p"], settings=settings)


@pytest.mark.parametrize("named", [False, True])
def test_a_run_gets_the_report_its_metrics_and_its_answer(named, analysis, tmp_path):
    from calib.integrations.mlflow import log_report
    from calib.reports import Report

    with mlflow.start_run() as run:
        if not named:
            log_report(analysis)
    if named:
        log_report(calib.report(analysis), run_id=run.info.run_id)
    data = mlflow.get_run(run.info.run_id).data
    table = analysis.table()
    assert analysis.recommendation.method == "beta"
    for method in ("uncalibrated", "beta"):
        logged = data.metrics[f"calib/{method}/ks_error"]
        assert logged == pytest.approx(table.loc[method, "ks_error"], rel=1e-12)
    assert data.tags["calib.verdict"] == analysis.verdict.sentence
    assert data.tags["calib.recommended"] == "beta"
    mlflow.artifacts.download_artifacts(
        run_id=run.info.run_id, artifact_path="calib", dst_path=str(tmp_path)
    )
    opened = Report.open((tmp_path / "calib" / "report.json").read_bytes())
    assert opened.analysis.data.fingerprint == analysis.data.fingerprint
    assert "<html" in (tmp_path / "calib" / "report.html").read_text()


def test_evaluation_gets_calibration_metrics(frame):
    from calib.integrations.mlflow import metrics

    with mlflow.start_run():
        values = mlflow.models.evaluate(
            data=frame, targets="y", predictions="p", extra_metrics=metrics()
        ).metrics
    assert values["ks_error"] == calib.metrics.ks_error(frame["y"], frame["p"])
    assert values["brier_score"] == pytest.approx(((frame["p"] - frame["y"]) ** 2).mean())
    assert set(values) >= {"ks_error", "ece_quantile", "brier_score", "log_loss"}
