"""Two lines from arrays, or from a model, to an analysis and its picture."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import calib
from calib.data.predictions import Predictions
from calib.figures import CHARTS

RNG = np.random.default_rng(3)
P = RNG.random(300)
Y = (RNG.random(300) < P).astype(int)
QUICK = calib.Settings(methods=("platt",))


def same(one, other):
    assert one.data.n_rows == other.data.n_rows
    pd.testing.assert_frame_equal(one.table(), other.table())


@pytest.fixture(scope="module")
def expected():
    return calib.analyze(Predictions.from_arrays(Y, P), QUICK)


@pytest.mark.parametrize(
    "given",
    [
        (Y.tolist(), P.tolist()),
        (Y.astype(bool), P),
        (pd.Series(Y, index=range(7, 307)), pd.Series(P, index=range(300))),
        (pd.Series(Y == 1, dtype="boolean"), pd.Series(P, dtype="Float64")),
        (Y, np.column_stack([1 - P, P])),
    ],
    ids=["lists", "booleans", "series", "nullable series", "two columns"],
)
def test_whatever_holds_the_numbers_gives_the_same_analysis(expected, given):
    same(calib.from_predictions(*given, settings=QUICK), expected)


def test_series_of_polars_are_read(expected):
    pl = pytest.importorskip("polars")
    same(calib.from_predictions(pl.Series(Y), pl.Series(P), settings=QUICK), expected)


def test_weights_names_and_settings_arrive():
    weight = RNG.random(300) + 0.5
    settings = calib.Settings(methods=("platt",), n_bins=7)
    analysis = calib.from_predictions(Y, P, weight, name="churn", settings=settings)
    rows = Predictions.from_arrays(Y, P, weight)
    same(analysis, calib.analyze(rows, settings))
    assert (analysis.data.name, analysis.data.weighted) == ("churn", True)


def test_labels_are_read_in_the_order_of_the_classes(expected):
    labels = np.array(["stays", "churns"])[Y]
    analysis = calib.from_predictions(labels, P, classes=["stays", "churns"], settings=QUICK)
    same(analysis, expected)
    assert analysis.data.positive_name == "churns"
    turned = calib.from_predictions(labels, 1 - P, classes=["churns", "stays"], settings=QUICK)
    assert turned.data.base_rate == pytest.approx(1 - expected.data.base_rate)


@pytest.mark.parametrize(
    "arguments",
    [
        {"y_true": ["a", "b", "c"], "y_prob": [0.1, 0.2, 0.3], "classes": ["a", "b"]},
        {"y_true": ["a", "b"], "y_prob": [0.1, 0.2], "classes": ["a", "b", "c"]},
        {"y_true": ["a", "b"], "y_prob": [0.1, 0.2], "classes": ["a", "a"]},
        {"y_true": [["a"]], "y_prob": [0.1], "classes": ["a", "b"]},
        {"y_true": [0, 2], "y_prob": [0.1, 0.2]},
        {"y_true": [0, 1], "y_prob": [0.1, 1.2]},
        {"y_true": [0, 1, 1], "y_prob": [0.1, 0.2]},
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(arguments, texts):
    with texts.raises(ValueError):
        calib.from_predictions(**arguments)


def test_a_model_of_two_classes_is_analysed_by_its_second_column():
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.array(["malignant", "benign"])[y]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], labels[::2])
    analysis = calib.from_estimator(model, X[1::2], labels[1::2])
    # Classes are sorted by scikit-learn, so "malignant" is the second one.
    second = model.predict_proba(X[1::2])[:, 1]
    same(analysis, calib.analyze(Predictions.from_arrays(labels[1::2] == "malignant", second)))
    assert (analysis.data.name, analysis.data.positive_name) == ("Pipeline", "malignant")


def test_a_model_of_three_classes_is_analysed_as_a_matrix():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = GaussianNB().fit(X[::2], names[y[::2]])
    given = (X[1::2], names[y[1::2]])
    settings = calib.Settings(view="top:1", methods=("temperature",))
    analysis = calib.from_estimator(model, *given, name="iris", settings=settings)
    rows = Predictions.from_arrays(
        y[1::2], model.predict_proba(X[1::2]), class_names=names.tolist()
    )
    same(analysis, calib.analyze(rows, settings))
    assert analysis.multiclass is not None


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        GaussianNB(),
        make_pipeline(StandardScaler(), GaussianNB()),
    ],
)
def test_a_model_without_probabilities_is_refused_in_a_sentence(model, texts):
    with texts.raises(ValueError):
        calib.from_estimator(model, [[0.0], [1.0]], [0, 1])


def test_labels_that_the_model_has_not_seen_are_named(texts):
    model = GaussianNB().fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    with texts.raises(ValueError):
        calib.from_estimator(model, [[0.0], [1.0]], ["a", "z"])


def test_two_lines_draw_a_reliability_diagram(expected):
    figure = calib.plot.reliability(calib.from_predictions(Y, P))
    assert type(figure).__name__ == "Figure"
    (dots,) = [trace for trace in figure.data if trace.uid == "dots uncalibrated"]
    np.testing.assert_array_equal(dots.y, expected.uncalibrated.reliability.observed)


def test_every_chart_is_public_but_those_of_the_app_alone():
    public = {name: getattr(calib.plot, name) for name in dir(calib.plot)}
    drawn = {plot.__wrapped__.__name__ for plot in public.values()}
    assert drawn == set(CHARTS) - {"before_after_panel", "class_panel"}
    for plot in public.values():
        assert plot.__doc__
        assert "Figure" in str(inspect.signature(plot).return_annotation)


def test_charts_refuse_what_they_do_not_draw(texts):
    frame = pd.DataFrame({"y": Y, "p": P})
    for name in calib.plot.__all__:
        with texts.raises(TypeError, name):
            getattr(calib.plot, name)(frame)
    with pytest.raises(TypeError, match=r"Use calib\.analyze"):
        calib.plot.reliability(analysis=frame)


def test_reversed_scores_are_said_and_those_by_chance_are_not():
    settings = calib.Settings(methods=())
    analysis = calib.from_predictions(Y, 1 - P, settings=settings)
    warned = [warning for warning in analysis.warnings if "lower scores" in warning]
    n, ranks = len(Y), pd.Series(1 - P).rank()
    area = (ranks[Y == 1].sum() - Y.sum() * (Y.sum() + 1) / 2) / (Y.sum() * (n - Y.sum()))
    assert len(warned) == 1
    assert f"(AUC {area:.3f})" in warned[0]
    for seed in range(3):
        p = np.random.default_rng(seed).random(300)
        # Twenty copies of each row are not more evidence than the row.
        copies = {"group": np.tile(np.arange(300), 20), "settings": settings}
        analysis = calib.from_predictions(np.tile(Y, 20), np.tile(p, 20), **copies)
        assert not any("lower scores" in warning for warning in analysis.warnings)


@pytest.mark.parametrize(
    "scores",
    [
        (P > 0.5).astype(float),
        Y.astype(float),
        np.where(P > 0.5, 0.4, 0.4 + 1e-15),
        np.where(P > 0.5, 0.0, 1e-300),
        P * 1e-320,
    ],
    ids=["labels", "the outcome", "equal but for rounding", "nearly 0", "hardly above 0"],
)
def test_degenerate_scores_of_clustered_rows_are_analysed(scores):
    analysis = calib.from_predictions(Y, scores, group=np.arange(300) % 60)
    for result in analysis.methods.values():
        tests = pd.Series({name: test.p_value for name, test in result.tests.items()}, dtype=float)
        assert tests.notna().any()
        assert tests.dropna().between(0.0, 1.0).all()
    assert calib.report(analysis).evidence is not None
