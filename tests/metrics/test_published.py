"""Published numbers: the CORP paper's decompositions, ResNet-110, and the ECE blog's examples."""

import numpy as np
import pandas as pd
import pytest

from calib import metrics
from calib.data.cells import ScoreCells


def test_corp_decompositions(shared):
    published = pd.read_csv(shared / "data" / "corp" / "published.csv")
    assert len(published) == 10
    for row in published.itertuples():
        table = pd.read_csv(shared / "data" / "corp" / row.file)
        # Some flare forecasts are missing, all of them on the same days.
        table = table[[row.forecast, row.outcome]].dropna()
        assert len(table) == row.n
        parts = metrics.brier_decomposition(table[row.outcome], table[row.forecast])
        values = [parts.miscalibration, parts.discrimination, parts.uncertainty]
        printed = [row.MCB_pub, row.DSC_pub, row.UNC_pub]
        np.testing.assert_allclose(values, printed, atol=5.001e-4, err_msg=row.forecast)
        full = [row.MCB_ours, row.DSC_ours, row.UNC_ours]
        np.testing.assert_allclose(values, full, atol=1e-6, err_msg=row.forecast)
        assert parts.score == pytest.approx(row.BS_ours, abs=1e-6)


def test_resnet_110_on_cifar_10(shared):
    table = pd.read_parquet(shared / "data" / "cnn" / "resnet110_cifar10_top1.parquet")
    hit = table["true_label"] == table["pred_label"]
    cells = ScoreCells.from_arrays(hit, table["confidence"])
    assert 100 * metrics.ks_error(cells) == pytest.approx(4.750, abs=5e-4)
    assert metrics.expected_calibration_error(cells) == pytest.approx(0.0475035, abs=5e-8)
    assert metrics.expected_calibration_error(cells, norm="max") == pytest.approx(0.2958, abs=5e-5)


def test_blog_binary_example():
    # Three bins of 2, 5 and 3 rows have the gaps 0.235, 0.286 and 0.170.
    score = [0.235] * 2 + [0.514] * 5 + [2 / 3 + 0.17] * 3
    outcome = [0, 0, 1, 1, 1, 1, 0, 1, 1, 0]
    assert metrics.expected_calibration_error(outcome, score, n_bins=3) == pytest.approx(0.241)


def test_blog_multiclass_example():
    # Three bins of 3, 3 and 4 rows have gaps that add up to 1.18, 0.51 and 0.25.
    score = [(2 - 1.18) / 3] * 3 + [(1 + 0.51) / 3] * 3 + [(3 + 0.25) / 4] * 4
    outcome = [1, 1, 0, 1, 0, 0, 1, 1, 1, 0]
    assert metrics.expected_calibration_error(outcome, score, n_bins=3) == pytest.approx(0.194)
