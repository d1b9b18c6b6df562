"""Comparing models: the right numbers against the first model, paired where rows are the same."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from calib.analysis import analyze
from calib.analysis.model_comparison import compare_models, compare_recommended
from calib.crossfit.settings import Settings
from calib.data.aggregating import aggregate
from calib.data.predictions import Predictions
from calib.numerics.intervals import Estimate, unpaired_difference

RNG = np.random.default_rng(5)
P = RNG.uniform(0.02, 0.98, 1500)
Y = RNG.random(1500) < P
SURE = P**2 / (P**2 + (1 - P) ** 2)


@pytest.fixture(scope="module")
def comparison():
    models = {
        "first": Predictions.from_arrays(Y, P),
        "sure": Predictions.from_arrays(Y, SURE),
        "others": Predictions.from_arrays(Y[::-1][:1200], SURE[::-1][:1200]),
    }
    return compare_models(models, Settings(n_bins=10), method="beta")


def test_metrics_are_those_of_scikit_learn(comparison):
    for name, score in (("first", P), ("sure", SURE)):
        metrics = comparison.models[name].metrics["uncalibrated"]
        assert metrics["log_loss"].value == pytest.approx(log_loss(Y, score), abs=1e-12)
        assert metrics["brier_score"].value == pytest.approx(brier_score_loss(Y, score), abs=1e-12)
        assert metrics["auc"].value == pytest.approx(roc_auc_score(Y, score), abs=1e-12)
    assert comparison.methods == ("uncalibrated", "clip", "beta")


def test_differences_are_between_models_with_the_same_method(comparison):
    models = comparison.models
    change = models["sure"].differences["uncalibrated"]["log_loss"]
    assert change.value == pytest.approx(log_loss(Y, SURE) - log_loss(Y, P), abs=1e-12)
    assert comparison.best("uncalibrated") == "first"
    first = models["first"].differences["uncalibrated"]["log_loss"]
    assert first == Estimate(0.0, 0.0, 0.0)
    # Beta calibration undoes the squaring, so no difference is left.
    calibrated = [models[name].differences["beta"]["log_loss"].value for name in ("first", "sure")]
    assert abs(calibrated[1] - calibrated[0]) < 0.01 * change.value


def test_differences_are_from_the_best_model_of_each_method(comparison):
    given = {"worse": SURE, "better": P}
    models = {name: Predictions.from_arrays(Y, score) for name, score in given.items()}
    turned = compare_models(models, Settings(n_bins=10), method="beta")
    assert turned.best("uncalibrated") == "better"
    worse = turned.models["worse"].differences["uncalibrated"]["log_loss"]
    assert worse.value == pytest.approx(log_loss(Y, SURE) - log_loss(Y, P), abs=1e-12)
    assert worse.low > 0.0
    for method in turned.methods:
        changes = [model.differences[method]["log_loss"].value for model in turned.models.values()]
        assert min(changes) == 0.0


def test_the_same_rows_are_paired(comparison):
    paired = [model.paired["uncalibrated"] for model in comparison.models.values()]
    assert paired == [True, True, False]
    paired = comparison.models["sure"].differences["uncalibrated"]["log_loss"]
    free = unpaired_difference(
        *(comparison.models[name].metrics["uncalibrated"]["log_loss"] for name in ("first", "sure"))
    )
    assert paired.high - paired.low < 0.7 * (free.high - free.low)
    other = comparison.models["others"].differences["uncalibrated"]["log_loss"]
    expected = comparison.models["others"].metrics["uncalibrated"]["log_loss"]
    assert other.value == pytest.approx(expected.value - log_loss(Y, P), abs=1e-12)


def test_the_best_model_of_a_method_has_the_differences_of_the_others(comparison):
    best = comparison.best_model("uncalibrated")
    assert (best.name, list(best.log_losses)) == ("first", ["first", "sure", "others"])
    models = comparison.models
    expected = {name: models[name].differences["uncalibrated"]["log_loss"] for name in models}
    assert best.differences == {name: expected[name] for name in ("sure", "others")}
    assert best.tied == ()
    # Beta calibration undoes the squaring.
    calibrated = comparison.best_model("beta")
    assert {"first", "sure"} <= {calibrated.name, *calibrated.tied}


def test_recommended_scores_of_models_are_paired_by_row():
    given = {"shrunk": P**3, "noisy": np.clip(P + RNG.normal(0.0, 0.2, len(P)), 0.01, 0.99)}
    settings = Settings(methods=("beta",))
    analyses = {
        name: analyze(Predictions.from_arrays(Y, score), settings) for name, score in given.items()
    }
    best = compare_recommended(analyses)
    # The scores that were cubed are the better ones once they are calibrated.
    assert analyses["shrunk"].recommendation.method == "beta"
    assert best.name == "shrunk"
    losses = {
        name: one.methods[one.recommendation.method].metrics["log_loss"]
        for name, one in analyses.items()
    }
    assert best.log_losses == losses
    change = best.differences["noisy"]
    assert change.value == pytest.approx(losses["noisy"].value - losses["shrunk"].value, abs=1e-12)
    assert best.tied == ()
    free = unpaired_difference(losses["shrunk"], losses["noisy"])
    assert change.high - change.low < free.high - free.low


def test_counts_have_the_metrics_of_their_rows_and_are_not_paired(comparison):
    rows = {name: Predictions.from_arrays(Y, score) for name, score in (("a", P), ("b", SURE))}
    counts = {name: aggregate(model) for name, model in rows.items()}
    counted = compare_models(counts, Settings(n_bins=10), method="beta")
    first, second = (counted.models[name].metrics["uncalibrated"]["log_loss"] for name in "ab")
    assert first.value == pytest.approx(log_loss(Y, P), abs=1e-12)
    assert second.value == pytest.approx(log_loss(Y, SURE), abs=1e-12)
    assert not counted.models["b"].paired["uncalibrated"]
    change = counted.models["b"].differences["uncalibrated"]["log_loss"]
    assert change == unpaired_difference(first, second)
    best = counted.models[counted.best("beta")]
    assert best.differences["beta"]["log_loss"] == Estimate(0.0, 0.0, 0.0)


def test_weights_tell_rows_apart():
    models = {"a": Predictions.from_arrays(Y, P), "b": Predictions.from_arrays(Y, P, 1.0 + P)}
    comparison = compare_models(models, method="beta")
    assert "unpaired" in {comparison.pairing(name, "uncalibrated") for name in models}


def test_matrices():
    z = RNG.normal(size=(900, 3))
    label = (z + RNG.gumbel(size=z.shape)).argmax(axis=1)
    models = {}
    for heat in (1.0, 2.0, 3.0):
        p = np.exp(heat * z)
        p /= p.sum(axis=1, keepdims=True)
        models[f"epoch {heat:g}"] = Predictions.from_arrays(label, p)
    comparison = compare_models(models)
    assert comparison.methods[-1] == "temperature"
    assert comparison.positions == (1.0, 2.0, 3.0)
    for name, predictions in models.items():
        metrics = comparison.models[name].metrics
        expected = log_loss(label, predictions.scores)
        assert metrics["uncalibrated"]["log_loss"].value == pytest.approx(expected, abs=1e-9)
        # Temperature scaling undoes each temperature, so all models have the same loss.
        loss = metrics["temperature"]["log_loss"].value
        first = comparison.models["epoch 1"].metrics["temperature"]["log_loss"].value
        assert abs(loss - first) < 2e-3
        assert metrics["temperature"]["accuracy"].value == metrics["uncalibrated"]["accuracy"].value


def test_a_model_that_cannot_be_analysed_is_told(texts):
    models = {
        "good": Predictions.from_arrays(Y, P),
        "bad": Predictions.from_arrays([1] * 9, [0.5] * 9),
    }
    comparison = compare_models(models, method="beta")
    assert list(comparison.models) == ["good"]
    assert "bad" in comparison.failures
    with texts.raises(ValueError):
        compare_models({"a": models["bad"], "b": models["bad"]}, method="beta")


def test_refusals(texts):
    one = Predictions.from_arrays(Y, P)
    matrix = Predictions.from_arrays(Y.astype(int), np.column_stack([1 - P, P]))
    with texts.raises(ValueError):
        compare_models({"a": one})
    with texts.raises(ValueError):
        compare_models({"a": one, "b": matrix})


def test_classes_are_aligned_by_name():
    rng = np.random.default_rng(3)
    score = rng.dirichlet(np.ones(3), 600)
    label = (score.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)
    order = np.array([2, 0, 1])
    names = ("a", "b", "c")
    models = {
        "abc": Predictions.from_arrays(label, score, class_names=names),
        "cab": Predictions.from_arrays(
            np.argsort(order)[label], score[:, order], class_names=[names[i] for i in order]
        ),
    }
    comparison = compare_models(models)
    for change in comparison.models["cab"].differences["uncalibrated"].values():
        assert (change.value, change.low, change.high) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    assert set(comparison.frame()["differences"]) == {"reference", "paired"}


def test_rows_in_another_order_are_said_to_be_unpaired():
    order = np.random.default_rng(0).permutation(len(Y))
    models = {
        "a": Predictions.from_arrays(Y, P),
        "shuffled": Predictions.from_arrays(Y[order], P[order]),
    }
    comparison = compare_models(models, method="platt")
    assert set(comparison.frame().loc["shuffled", "differences"]) == {"unpaired"}


def test_models_of_other_classes_are_refused(texts):
    score = np.full((9, 3), 1 / 3)
    label = np.arange(9) % 3
    matrices = {
        names: Predictions.from_arrays(label, score, class_names=list(names))
        for names in ("abc", "xyz")
    }
    with texts.raises(ValueError):
        compare_models(matrices)
    yes = Predictions.from_arrays(Y, P, class_names=("no", "yes"))
    swapped = Predictions.from_arrays(~Y, 1.0 - P, class_names=("yes", "no"))
    with texts.raises(ValueError):
        compare_models({"yes": yes, "no": swapped})
    with texts.raises(ValueError):
        compare_models({"yes": aggregate(yes), "no": aggregate(swapped)})


def test_progress_names_the_models():
    calls = []
    models = {"a": Predictions.from_arrays(Y, P), "b": Predictions.from_arrays(Y, SURE)}
    compare_models(models, method="beta", progress=lambda share, text: calls.append((share, text)))
    shares = [share for share, _ in calls]
    assert shares == sorted(shares)
    assert {text.split(":")[0] for _, text in calls} == {"a", "b"}


def test_frame(comparison):
    frame = comparison.frame()
    assert frame.index.names == ["model", "method"]
    assert frame.loc[("first", "uncalibrated"), "log_loss"] == pytest.approx(log_loss(Y, P))
    assert {"log_loss_low", "log_loss_diff", "log_loss_diff_high", "auc_low"} <= set(frame)
