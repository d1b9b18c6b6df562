"""Every map against the packages of the field, on a grid of 21 scores from 0 to 1."""

import json

import numpy as np
import pandas as pd
import pytest

from calib.calibrators import calibrator

DATASETS = ("tiny10", "ties200", "imbalanced2000", "smooth1000")
# The peers do not clip 0 and 1 at 2.2e-16 (R's and netcal's grids at 1e-12, scikit-learn adds
# 1e-12). The ends are left out if a row says so.
INSIDE, ALL = slice(1, -1), slice(None)
CASES = [
    # A row has key, parameters, record, peer, tolerance and part of the grid.
    ("isotonic", {"shrink": False}, "isotonic", "scikit-learn 1.9.1", 1e-12, ALL),
    ("isotonic", {"shrink": False}, "isotonic", "R 4.2.2", 1e-12, ALL),
    ("platt", {}, "platt_on_p", "scikit-learn 1.9.1", 1e-6, ALL),
    ("logistic", {}, "platt_logit_mle", "R 4.2.2", 1e-10, INSIDE),
    ("beta", {}, "beta_abm_mle_unconstrained", "R 4.2.2", 1e-10, INSIDE),
    ("temperature", {}, "temperature", "scikit-learn 1.9.1", 1e-6, INSIDE),
    ("venn_abers", {}, "venn_abers_ivap", "venn-abers 1.5.4", 1e-12, ALL),
    # The search of betacal stops early (lbfgs, tol 1e-4), so R above is the stricter test of abm.
    ("beta", {}, "beta_abm", "betacal 1.1.0; scikit-learn 1.9.1", 2e-4, ALL),
    ("beta_am", {}, "beta_am", "betacal 1.1.0; scikit-learn 1.9.1", 2e-4, ALL),
    ("beta_ab", {}, "beta_ab", "betacal 1.1.0; scikit-learn 1.9.1", 2e-4, ALL),
]


@pytest.fixture(scope="session")
def records(shared):
    result = json.loads((shared / "reference/reference.json").read_text())["calibrators"]
    return {(r["dataset"], r["calibrator"], r["peer"]): r for r in result}


@pytest.fixture
def fit(shared):
    def fitted(dataset, key, **parameters):
        data = pd.read_csv(shared / f"reference/data/{dataset}.csv")
        return calibrator(key, **parameters).fit(data.p, data.y)

    return fitted


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize(
    ("key", "parameters", "record", "peer", "tolerance", "part"),
    CASES,
    ids=[f"{case[0]}-{case[3].split()[0]}" for case in CASES],
)
def test_map(fit, records, dataset, key, parameters, record, peer, tolerance, part):
    values = np.array(records[dataset, record, peer]["values"])
    ours = fit(dataset, key, **parameters).predict(np.linspace(0, 1, 21))
    assert ours[part] == pytest.approx(values[part], abs=tolerance)


@pytest.mark.parametrize("dataset", DATASETS)
def test_venn_abers_interval(fit, records, dataset):
    record = records[dataset, "venn_abers_ivap", "venn-abers 1.5.4"]
    p0, p1 = fit(dataset, "venn_abers").interval(np.linspace(0, 1, 21))
    assert p0 == pytest.approx(record["p0"], abs=1e-12)
    assert p1 == pytest.approx(record["p1"], abs=1e-12)


# Uniform bins of netcal are closed on the left, and uncertainty-calibration cuts between two rows.
# Their definition is ours only if no score lies on an edge and no rows are tied.
@pytest.mark.parametrize("dataset", ["imbalanced2000", "smooth1000"])
@pytest.mark.parametrize(
    ("strategy", "record", "peer"),
    [
        ("uniform", "netcal_histogram10", "netcal 1.4.0; torch 2.15.0"),
        (
            "quantile",
            "uncertainty-calibration_HistogramCalibrator",
            "uncertainty-calibration 0.1.4",
        ),
    ],
)
def test_histogram(fit, records, dataset, strategy, record, peer):
    values = records[dataset, record, peer]["values"]
    ours = fit(dataset, "histogram", n_bins=10, strategy=strategy, shrink=False)
    assert ours.predict(np.linspace(0, 1, 21)) == pytest.approx(values, abs=1e-12)
