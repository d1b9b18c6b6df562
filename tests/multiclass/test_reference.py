"""Multiclass calibrators and metrics against the packages of the field, and published networks."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize

from calib.calibrators import calibrator, multiclass_calibrator
from calib.data.predictions import Predictions
from calib.metrics import expected_calibration_error, ks_error
from calib.metrics.matrix import multiclass_metrics
from tests.multiclass.test_by_class import classwise

LN = np.log  # The scores of mc3_600 are never 0.


def softmax(eta):
    eta = np.exp(eta - eta.max(axis=1, keepdims=True))
    return eta / eta.sum(axis=1, keepdims=True)


def mean_log_loss(p, label):
    return -np.log(p[np.arange(len(p)), label]).mean()


@pytest.mark.parametrize("peer", ["scikit-learn", "dirichletcal", "calibre", "probmetrics"])
def test_temperature(mc3, peers, peer):
    names = {
        "scikit-learn": "temperature",
        "dirichletcal": "dirichletcal_temperature",
        "calibre": "calibre_temperature",
        "probmetrics": "probmetrics_temp-scaling",
    }
    ours = multiclass_calibrator("temperature").fit(*mc3).predict(mc3[0][:21])
    assert ours == pytest.approx(np.array(peers[names[peer], peer]["values"]), abs=1e-6)


def test_temperature_parameter(mc3, peers):
    beta = peers["temperature", "scikit-learn"]["params"]["beta"]
    fitted = multiclass_calibrator("temperature").fit(*mc3)
    assert 1.0 / fitted.temperature_ == pytest.approx(beta, abs=1e-6)


def vector_from(values, scores):
    """The map that gave a peer's predictions: log-odds are linear in its parameters."""
    log_odds = LN(values[:, :2]) - LN(values[:, 2:])
    x, one, zero = LN(scores), np.ones(len(scores)), np.zeros(len(scores))
    first = np.column_stack([x[:, 0], zero, -x[:, 2], one, zero])
    second = np.column_stack([zero, x[:, 1], -x[:, 2], zero, one])
    result = np.linalg.lstsq(np.vstack([first, second]), log_odds.T.ravel(), rcond=None)
    assert result[1] == pytest.approx(0.0, abs=1e-8)  # This one is vector scaling.
    return result[0][:3], np.append(result[0][3:], 0.0)


# The search of probmetrics stops earlier than that of netcal.
@pytest.mark.parametrize(
    ("name", "peer", "tolerance"),
    [
        ("netcal_logistic(vector)", "netcal", 1e-5),
        ("probmetrics_vector_scaling", "probmetrics", 5e-5),
    ],
)
def test_vector(mc3, peers, name, peer, tolerance):
    scores, label = mc3
    values = np.array(peers[name, peer]["values"])
    slopes, intercepts = vector_from(values, scores[:21])
    theirs = mean_log_loss(softmax(LN(scores) * slopes + intercepts), label)
    fitted = multiclass_calibrator("vector").fit(scores, label)
    assert mean_log_loss(fitted.predict(scores), label) <= theirs + 1e-9
    assert fitted.predict(scores[:21]) == pytest.approx(values, abs=tolerance)


def matrix_from(values, scores):
    """The matrix that gave a peer's predictions, up to a constant added to a column."""
    log_odds = LN(values[:, :2]) - LN(values[:, 2:])
    design = np.column_stack([LN(scores), np.ones(len(scores))])
    table = np.linalg.lstsq(design, log_odds, rcond=None)[0].T
    return np.vstack([table, np.zeros(4)])


def test_matrix(mc3, peers):
    scores, label = mc3
    values = np.array(peers["probmetrics_matrix_scaling", "probmetrics"]["values"])
    table = matrix_from(values, scores[:21])
    theirs = mean_log_loss(softmax(LN(scores) @ table[:, :3].T + table[:, 3]), label)
    fitted = multiclass_calibrator("matrix").fit(scores, label)
    assert mean_log_loss(fitted.predict(scores), label) <= theirs + 1e-9
    assert fitted.predict(scores[:21]) == pytest.approx(values, abs=1e-4)


def structured(table, scaled, label):
    """The objective of structured matrix scaling, as its paper writes it."""
    n, m = scaled.shape
    away = table - np.eye(m, m + 1)
    beside = ~np.eye(m, m + 1, dtype=bool)
    beside[:, m] = False
    loss = mean_log_loss(softmax(LN(scaled) @ table[:, :m].T + table[:, m]), label)
    simple, crossed = (away[~beside] ** 2).sum(), (away[beside] ** 2).sum()
    return loss + m / n * simple + m * (m - 1) / n * crossed


# The first four rows of mc3_600 by probmetrics 1.3.0 in float64, with its search run to a gradient
# of 1e-10.
SEARCHED_ON = [
    [0.92743745, 0.05030051, 0.02226204],
    [0.00927037, 0.35555321, 0.63517642],
    [0.28172427, 0.32297247, 0.39530326],
    [0.01425515, 0.97347543, 0.01226942],
]


def test_structured(mc3, peers):
    scores, label = mc3
    fitted = multiclass_calibrator("structured").fit(scores, label)
    assert fitted.predict(scores[:4]) == pytest.approx(np.array(SEARCHED_ON), abs=1e-4)
    # The published values cannot be compared to 1e-4: in float32 the search of probmetrics ends up
    # to 1.9e-4 away from the minimum of its own objective, which is checked below.
    published = np.array(peers["probmetrics_sms", "probmetrics"]["values"])
    assert fitted.predict(scores[:21]) == pytest.approx(published, abs=2e-4)
    temperature = multiclass_calibrator("temperature").fit(scores, label)
    scaled = (600.0 * temperature.predict(scores) + 1.0 / 3.0) / 601.0
    ours = np.column_stack([fitted.weights_, fitted.intercepts_])
    best = minimize(lambda t: structured(t.reshape(3, 4), scaled, label), np.eye(3, 4).ravel())
    assert structured(ours, scaled, label) == pytest.approx(best.fun, abs=1e-8)
    assert structured(ours, scaled, label) <= best.fun + 1e-12
    predicted = softmax(LN(scaled[:21]) @ ours[:, :3].T + ours[:, 3])
    assert fitted.predict(scores[:21]) == pytest.approx(predicted, abs=1e-12)


def penalised(table, scores, label, penalty):
    """Dirichlet calibration's objective at strength 1e-3, as dirichletcal writes it."""
    loss = mean_log_loss(softmax(LN(scores) @ table[:, :3].T + table[:, 3]), label)
    free = np.eye(3, 4, dtype=bool) if penalty == "odir" else np.zeros((3, 4), dtype=bool)
    return loss + 1e-3 * (np.where(free, 0.0, table) ** 2).sum()


@pytest.mark.parametrize(
    ("penalty", "name"), [("odir", "dirichlet_odir_1e-3"), ("l2", "dirichlet_full_l2_1e-3")]
)
def test_dirichlet(mc3, peers, penalty, name):
    scores, label = mc3
    record = peers[name, "dirichletcal"]
    table = np.array(record["params"]["weights"])
    # The coefficients of the record give the predictions of the record.
    predicted = softmax(LN(scores[:21]) @ table[:, :3].T + table[:, 3])
    assert predicted == pytest.approx(np.array(record["values"]), abs=1e-9)
    fitted = multiclass_calibrator("dirichlet", penalty=penalty, strength=1e-3).fit(scores, label)
    ours = np.column_stack([fitted.weights_, fitted.intercepts_])
    assert penalised(ours, scores, label, penalty) <= penalised(table, scores, label, penalty)
    # The peer fixes the coefficients of its last class at 0. The penalty alone would not.
    best = minimize(lambda t: penalised(t.reshape(3, 4), scores, label, penalty), table.ravel())
    assert penalised(ours, scores, label, penalty) == pytest.approx(best.fun, abs=1e-8)


@pytest.fixture(scope="module")
def quantities(shared):
    result = json.loads((shared / "reference/reference.json").read_text())["metrics"]
    return [r for r in result if r["dataset"] == "mc3_600"]


@pytest.mark.parametrize(
    ("quantity", "key", "n_bins"),
    [
        ("log_loss", "log_loss", 15),
        ("brier_multiclass", "brier_score", 15),
        ("ece_toplabel_l1_uniform10", "ece_top_label", 10),
        ("ece_toplabel_l1_uniform15", "ece_top_label", 15),
        ("ece_classwise_l1_uniform10", "ece_classwise", 10),
        ("ece_classwise_l1_uniform15", "ece_classwise", 15),
        ("ks_toplabel", "ks_top_1", 15),
        ("ks_2nd_label", "ks_top_2", 15),
        ("ks_within_top2", "ks_within_2", 15),
    ],
)
def test_metrics(mc3, quantities, quantity, key, n_bins):
    scores, label = mc3
    ours = multiclass_metrics(label, scores, n_bins=n_bins)[key]
    values = {r["peer"]: r["value"] for r in quantities if r["quantity"] == quantity}
    # The peer torchmetrics computes in float32.
    doubles = [value for peer, value in values.items() if "torchmetrics" not in peer]
    assert doubles
    assert [ours] * len(doubles) == pytest.approx(doubles, abs=1e-12)


CALIBRATE, TEST = slice(0, 5000), slice(5000, None)
KEYS = {
    "acc": "accuracy",
    "nll": "log_loss",
    "brier": "brier_score",
    "ece15": "ece_top_label",
    "ks_top1": "ks_top_1",
    "ks_top2": "ks_top_2",
    "ks_within2": "ks_within_2",
}


@pytest.mark.parametrize(("key", "method"), [("uncalibrated", "uncal"), ("temperature", "temp")])
def test_network_to_the_printed_digits(cnn, key, method):
    probs, label, reference = cnn
    fitted = multiclass_calibrator(key).fit(probs[CALIBRATE], label[CALIBRATE])
    result = multiclass_metrics(label[TEST], fitted.predict(probs[TEST]))
    for column, ours in KEYS.items():
        percent = 100.0 if column.startswith("ks") else 1.0
        printed = reference.loc[method, column]
        # The file has six significant digits.
        assert percent * result[ours] == pytest.approx(printed, rel=5e-6), column
    if key == "temperature":
        assert fitted.temperature_ == pytest.approx(reference.loc["temp", "T"], abs=5e-5)


def test_network_vector_scaling(cnn):
    probs, label, reference = cnn
    fitted = multiclass_calibrator("vector").fit(probs[CALIBRATE], label[CALIBRATE])
    result = multiclass_metrics(label[TEST], fitted.predict(probs[TEST]))
    assert result["log_loss"] == pytest.approx(reference.loc["vector", "nll"], abs=0.002)
    assert result["accuracy"] == pytest.approx(reference.loc["vector", "acc"], abs=0.002)


def test_network_ks_spline_of_the_matrix(cnn):
    probs, label, reference = cnn
    fitted = multiclass_calibrator("ks_spline").fit(probs[CALIBRATE], label[CALIBRATE])
    result = multiclass_metrics(label[TEST], fitted.predict(probs[TEST]))
    for column in ("ks_top1", "ks_top2", "ks_within2"):
        assert 100.0 * result[KEYS[column]] <= reference.loc["spline6", column] + 0.15
    assert result["ece_top_label"] <= reference.loc["spline6", "ece15"] + 0.0015
    assert result["accuracy"] == reference.loc["uncal", "acc"]


@pytest.mark.parametrize(
    ("view", "column"), [("top:1", "ks_top1"), ("top:2", "ks_top2"), ("within:2", "ks_within2")]
)
def test_network_ks_spline_of_each_view(cnn, view, column):
    probs, label, reference = cnn
    views = [
        Predictions.from_arrays(label[rows], probs[rows]).view(view) for rows in (CALIBRATE, TEST)
    ]
    fitted = calibrator("ks_spline").fit(views[0].score, views[0].outcome)
    error = ks_error(views[1].outcome, fitted.predict(views[1].score))
    assert 100.0 * error <= reference.loc["spline6", column] + 0.15


def test_errors_by_class_are_those_of_the_views(cnn):
    probs, label, _ = cnn
    predictions = Predictions.from_arrays(label, probs)
    table = classwise(predictions)
    assert (np.diff(table.ks_error) <= 0.0).all()
    for place, k in enumerate(table.index):
        cells = predictions.view(f"class:{k}").cells()
        assert table.ks_error[place] == pytest.approx(ks_error(cells), abs=1e-12)
        assert table.ece[place] == pytest.approx(expected_calibration_error(cells), abs=1e-12)
        assert table.bias[place] == pytest.approx(cells.base_rate - cells.mean_score, abs=1e-12)
