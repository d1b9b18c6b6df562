"""Calibrated models, and calibrators in pipelines."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from calib.calibrators import calibrator
from calib.calibrators.histogram import Histogram
from calib.calibrators.meta_estimators import CalibratedModel, ScoreCalibrator
from calib.calibrators.spline import Spline
from calib.data.cells import cluster_codes
from tests.rare import rare

NOT_EQUIVALENT = "folds are cut by rows: a row of weight 2 is in one fold, two rows may be in two"


KNOWN = {
    "expected_failed_checks": lambda _: {
        "check_sample_weight_equivalence_on_dense_data": NOT_EQUIVALENT,
        "check_sample_weight_equivalence_on_sparse_data": NOT_EQUIVALENT,
    },
    "xfail_strict": False,  # With little data the folds may happen to agree.
}


@parametrize_with_checks([CalibratedModel(LinearSVC(), "platt", cv=2)], **KNOWN)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# This calibrator is refitted thousands of times, and another one passes through the same code.
# The labels of these checks are drawn by chance, so a fitted spline may fall, and says so.
@rare
@pytest.mark.filterwarnings("ignore:Spline falls")
@parametrize_with_checks([CalibratedModel(LogisticRegression())], **KNOWN)
def test_scikit_learn_checks_of_the_default(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def binary():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


def test_repairs_naive_bayes(binary):
    X, y = binary
    train, test = slice(0, 400), slice(400, None)
    plain = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
    ours = CalibratedModel(GaussianNB()).fit(X[train], y[train]).predict_proba(X[test])
    assert log_loss(y[test], ours) < 0.6 * log_loss(y[test], plain)


def test_is_algorithm_4_in_steps(binary):
    X, y = binary
    folds = KFold(4, shuffle=True, random_state=3)
    out_of_fold = cross_val_predict(GaussianNB(), X, y, cv=folds, method="predict_proba")[:, 1]
    expected = (
        calibrator("beta")
        .fit(out_of_fold, y)
        .predict(GaussianNB().fit(X, y).predict_proba(X)[:, 1])
    )
    model = CalibratedModel(GaussianNB(), "beta", cv=folds).fit(X, y)
    assert model.predict_proba(X)[:, 1].tolist() == expected.tolist()


def test_multiclass_rows_are_one_against_rest_divided_by_their_sum(digits):
    X, y = digits
    model = CalibratedModel(GaussianNB(), "isotonic").fit(X, y)
    scores = model.estimator_.predict_proba(X)
    columns = np.column_stack(
        [c.predict(s) for c, s in zip(model.calibrators_, scores.T, strict=True)]
    )
    p = model.predict_proba(X)
    assert len(model.calibrators_) == 10
    assert p.sum(axis=1) == pytest.approx(np.ones(len(y)))
    kept = columns.sum(axis=1) > 0
    assert p[kept] == pytest.approx(columns[kept] / columns[kept].sum(axis=1, keepdims=True))


def test_row_whose_sum_is_zero_keeps_its_scores():
    X, y = make_classification(
        n_samples=300, n_classes=3, n_informative=4, class_sep=2.0, random_state=0
    )
    model = CalibratedModel(GaussianNB(), "isotonic").fit(X, y)
    for fitted in model.calibrators_:
        fitted.values_ = np.zeros_like(fitted.values_)
    assert model.predict_proba(X) == pytest.approx(model.estimator_.predict_proba(X))


@pytest.mark.parametrize("estimator", [LinearSVC(), RidgeClassifier(), SVC(), Perceptron()])
def test_decisions_go_through_the_sigmoid(estimator, binary):
    X, y = StandardScaler().fit_transform(binary[0]), binary[1]
    model = CalibratedModel(estimator, "isotonic").fit(X, y)
    scores = expit(model.estimator_.decision_function(X) / model.margin_scale_)
    assert model.predict_proba(X)[:, 1].tolist() == model.calibrators_[0].predict(scores).tolist()


def test_decisions_of_many_classes(digits):
    X, y = digits
    model = CalibratedModel(RidgeClassifier(), "logistic").fit(X / 16, y)
    assert (model.predict(X / 16) == y).mean() > 0.9


def test_labels_of_any_kind(binary):
    X, y = binary
    names = np.array(["benign", "malignant"])
    model = CalibratedModel(GaussianNB(), "platt").fit(X, names[1 - y])
    numbers = CalibratedModel(GaussianNB(), "platt").fit(X, 1 - y)
    assert model.classes_.tolist() == ["benign", "malignant"]
    assert (model.predict(X) == names[numbers.predict(X)]).all()


def test_weights_reach_the_model_and_the_calibrator(binary):
    X, y = binary
    weight = np.where(y == 1, 10.0, 1.0)
    plain = CalibratedModel(GaussianNB(), "platt").fit(X, y).predict_proba(X)[:, 1]
    weighted = CalibratedModel(GaussianNB(), "platt").fit(X, y, weight).predict_proba(X)[:, 1]
    assert weighted.mean() > plain.mean() + 0.02


def test_a_model_without_weights_is_named(binary, texts):
    X, y = binary[0][:80], binary[1][:80]
    weight = np.where(y == 1, 10.0, 1.0)
    with pytest.warns(UserWarning, match="sample_weight") as caught:
        model = CalibratedModel(KNeighborsClassifier(), "platt").fit(X, y, weight)
    texts(str(caught[0].message))
    plain = CalibratedModel(KNeighborsClassifier(), "platt").fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.02


@pytest.mark.parametrize("routed", [False, True])
def test_weights_reach_the_last_step_of_a_pipeline(routed, three):
    X, y = three
    weight = np.where(y == 1, 10.0, 1.0)
    alone = CalibratedModel(GaussianNB(), "platt").fit(X, y, weight).predict_proba(X)
    with config_context(enable_metadata_routing=routed):
        inner = GaussianNB().set_fit_request(sample_weight=True) if routed else GaussianNB()
        steps = make_pipeline(FunctionTransformer(), make_pipeline(inner))
        model = CalibratedModel(steps, "platt").fit(X, y, sample_weight=weight)
    assert model.predict_proba(X).tolist() == alone.tolist()


def test_weights_reach_the_model_of_a_search(three):
    X, y = three
    weight = np.where(y == 1, 10.0, 1.0)
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=2)
    model = CalibratedModel(search, "platt", cv=2).fit(X, y, weight)
    assert model.estimator_.best_estimator_.class_prior_[1] > 0.7


def test_weights_that_no_part_requests_are_refused(three):
    with config_context(enable_metadata_routing=True), pytest.raises(UnsetMetadataPassedError):
        CalibratedModel(GaussianNB(), "platt").fit(*three, sample_weight=np.ones(len(three[1])))


def test_other_arguments_reach_the_fit_of_the_model(three):
    X, y = three
    weight = np.where(y == 1, 10.0, 1.0)
    steps = make_pipeline(GaussianNB())
    fitted = CalibratedModel(steps, "platt").fit(X, y, gaussiannb__sample_weight=weight)
    assert fitted.estimator_[-1].class_prior_[1] > 0.7
    assert CalibratedModel(GaussianNB(), "platt").fit(X, y).estimator_.class_prior_[1] < 0.5


@pytest.mark.parametrize("routed", [False, True])
def test_groups_reach_the_splitter(routed, three):
    X, y = three
    groups = np.arange(len(y)) // 4
    with config_context(enable_metadata_routing=routed):
        cv = GroupKFold(3)
        model = CalibratedModel(GaussianNB(), "platt", cv=cv).fit(X, y, groups=groups)
    splits = list(cv.split(X, y, groups))
    named = CalibratedModel(GaussianNB(), "platt", cv=splits).fit(X, y, groups=groups)
    assert model.predict_proba(X).tolist() == named.predict_proba(X).tolist()


def test_no_group_is_in_two_folds_of_a_number(three):
    X, y = three
    groups = [(i // 4, "a") if i > 8 else None for i in range(len(y))]
    model = CalibratedModel(GaussianNB(), "platt", cv=4).fit(X, y, groups=groups)
    codes = cluster_codes(groups, len(y))
    drawn = StratifiedGroupKFold(4, shuffle=True, random_state=0).split(X, y, codes)
    named = CalibratedModel(GaussianNB(), "platt", cv=list(drawn)).fit(X, y, groups=groups)
    assert model.predict_proba(X).tolist() == named.predict_proba(X).tolist()


def test_a_class_in_one_group_is_refused(three, texts):
    X, y = three
    with texts.raises(ValueError):
        CalibratedModel(GaussianNB(), "platt").fit(X, y, groups=y)


def test_copies_named_as_groups_are_not_taken_for_evidence(three):
    X, y = three
    rows = np.arange(len(y))
    model = GaussianNB().fit(X, y)
    once = CalibratedModel.from_prefit(model, X, y, method="platt")
    copied, named = np.tile(rows, 3), {"groups": np.tile(rows, 3)}
    made = CalibratedModel.from_prefit(model, X[copied], y[copied], **named, method="platt")
    assert made.predict_proba(X) == pytest.approx(once.predict_proba(X), abs=1e-6)


@pytest.mark.parametrize("wrapped", [False, True])
def test_refuses_columns_of_pairs_of_classes(wrapped, three, texts):
    X, y = three
    model = SVC(decision_function_shape="ovo")
    if wrapped:
        model = GridSearchCV(make_pipeline(model), {"svc__C": [1.0]}, cv=2)
    with texts.raises(ValueError, "columns of pairs"):
        CalibratedModel(model, "platt", cv=2).fit(X, y)
    assert CalibratedModel(SVC(), "platt", cv=2).fit(X, y).predict_proba(X).shape == (200, 3)


@pytest.fixture(scope="module")
def three():
    return make_classification(200, n_classes=3, n_informative=4, random_state=0)


@pytest.mark.parametrize("labels", [(1, 2), ("no", "yes")])
def test_folds_are_fitted_on_the_labels_of_the_user(labels):
    X, y = make_classification(200, 4, flip_y=0.2, random_state=0)
    of_codes, of_labels = (
        CalibratedModel(LogisticRegression(class_weight={one: 1, other: 10}), "platt")
        for one, other in ((0, 1), labels)
    )
    expected = of_codes.fit(X, y).predict_proba(X)
    assert expected[:, 1].mean() == pytest.approx(y.mean(), abs=0.01)
    fitted = of_labels.fit(X, np.array(labels)[y])
    assert fitted.predict_proba(X).tolist() == expected.tolist()


class Ordered(ClassifierMixin, BaseEstimator):
    """A naive Bayes model whose columns have the given order."""

    def __init__(self, order):
        self.order = order

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_[self.order]
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)[:, self.order]


@pytest.mark.parametrize("order", [[1, 0], [2, 0, 1]])
def test_columns_are_placed_by_the_classes_of_the_model(order, three):
    X, y = three
    X, y = X[y < len(order)], y[y < len(order)]
    plain = CalibratedModel(GaussianNB(), "platt").fit(X, y).predict_proba(X)
    ordered = CalibratedModel(Ordered(order), "platt").fit(X, y).predict_proba(X)
    assert ordered == pytest.approx(plain)
    plain = CalibratedModel.from_prefit(GaussianNB().fit(X, y), X, y, method="platt")
    made = CalibratedModel.from_prefit(Ordered(order).fit(X, y), X, y, method="platt")
    assert made.classes_.tolist() == plain.classes_.tolist()
    assert made.predict_proba(X) == pytest.approx(plain.predict_proba(X))


def test_a_class_without_rows_in_a_fold_has_the_score_0(three, texts):
    X, y = three
    rows = np.arange(len(y))
    cv = [(rows[y != 1], rows[y == 1]), (rows[y == 1], rows[y != 1])]
    with pytest.warns(RuntimeWarning) as caught:
        fitted = CalibratedModel(GaussianNB(), "platt", cv=cv).fit(X, y)
    texts(str(caught[0].message))
    assert np.isfinite(fitted.predict_proba(X)).all()


def test_refuses_folds_that_score_a_row_twice_or_not_at_all(three, texts):
    X, y = three
    rows = np.arange(len(y))
    cv = [(rows[:150], rows[150:]), (rows[50:], rows[:50]), (rows[50:], rows[:40])]
    with texts.raises(ValueError):
        CalibratedModel(GaussianNB(), cv=cv).fit(X, y)


def test_refuses_a_model_of_other_classes(three, texts):
    class Renamed(GaussianNB):
        def fit(self, X, y):
            super().fit(X, y)
            self.classes_ = np.array([0, 1, 7])
            return self

    with texts.raises(ValueError):
        CalibratedModel(Renamed()).fit(*three)


def test_method_with_parameters_is_not_touched(binary):
    X, y = binary
    method = Histogram(n_bins=4)
    model = CalibratedModel(GaussianNB(), method).fit(X, y)
    assert not hasattr(method, "rates_")
    assert len(model.calibrators_[0].rates_) <= 4


def test_few_rows_of_a_class_make_fewer_folds():
    X = np.arange(20.0)[:, None]
    y = (np.arange(20) >= 17).astype(int)
    assert CalibratedModel(GaussianNB(), "platt").fit(X, y).predict_proba(X).shape == (20, 2)


@pytest.mark.parametrize(
    "y",
    [np.zeros(20), np.arange(20) == 3],
)
def test_refuses_what_cannot_be_cross_fitted(y, texts):
    with texts.raises(ValueError):
        CalibratedModel(GaussianNB()).fit(np.arange(20.0)[:, None], y)


def test_refuses_a_model_without_scores(binary, texts):
    class Mute(GaussianNB):
        predict_proba = property()

    with texts.raises(ValueError):
        CalibratedModel(Mute()).fit(*binary)


def test_forest_probabilities_beyond_one_by_rounding(binary):
    X, y = binary
    model = CalibratedModel(RandomForestClassifier(7, random_state=0), "isotonic").fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_can_be_searched(binary):
    X, y = binary
    search = GridSearchCV(
        CalibratedModel(GaussianNB()), {"method": ["platt", "beta"]}, scoring="neg_log_loss", cv=3
    )
    assert search.fit(X, y).best_params_["method"] in {"platt", "beta"}


def test_score_calibrator_is_the_calibrator(binary):
    rng = np.random.default_rng(0)
    scores = rng.random(200)
    y = rng.random(200) < scores
    plain = calibrator("beta").fit(scores, y).predict(scores)
    step = ScoreCalibrator("beta").fit(scores[:, None], y)
    assert step.transform(scores[:, None])[:, 0].tolist() == plain.tolist()
    assert step.predict_proba(scores)[:, 1].tolist() == plain.tolist()
    assert (step.predict(scores) == (plain > 0.5)).all()


def test_score_calibrator_in_a_pipeline():
    percent = np.array([[10.0], [30.0], [45.0], [60.0], [80.0], [90.0]])
    steps = make_pipeline(FunctionTransformer(_from_percent), ScoreCalibrator("isotonic"))
    y = ["no", "no", "yes", "no", "yes", "yes"]
    assert steps.fit(percent, y).predict([[10.0], [90.0]]).tolist() == ["no", "yes"]
    assert clone(steps).get_params()["scorecalibrator__method"] == "isotonic"


def _from_percent(X):
    return np.asarray(X) / 100.0


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.1, 0.2], [0.3, 0.4]], [0, 1]),
        ([[0.1], [2.0]], [0, 1]),
        ([[0.1], [0.2], [0.3]], [0, 1, 2]),
    ],
)
def test_score_calibrator_refuses(X, y, texts):
    with texts.raises(ValueError):
        ScoreCalibrator().fit(X, y)


def test_large_margins_keep_their_order(binary):
    X, y = binary
    model = CalibratedModel(SGDClassifier(random_state=0), "logistic").fit(X[:300], y[:300])
    p, margin = model.predict_proba(X[300:])[:, 1], model.estimator_.decision_function(X[300:])
    assert model.margin_scale_ > 10.0
    assert len(np.unique(p)) == len(np.unique(margin))
    assert roc_auc_score(y[300:], p) == roc_auc_score(y[300:], margin)


class Steep(ClassifierMixin, BaseEstimator):
    """The column x of X as a margin, with a sigmoid or softmax that is 0 or 1 for large ones."""

    def fit(self, _, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0] if len(self.classes_) == 2 else X[:, :3]

    def predict_proba(self, X):
        margin = self.decision_function(X)
        if margin.ndim == 1:
            return np.column_stack([expit(-margin), expit(margin)])
        return softmax(margin, axis=1)


SIDES = np.arange(200) % 2


def test_margins_are_preferred_to_probabilities_of_0_and_1():
    x = np.linspace(-400, 400, 200)[:, None]
    y = np.random.default_rng(0).random(200) < expit(x[:, 0] / 100)
    few = CalibratedModel(Steep(), "logistic").fit(x / 100, y)
    assert (few.response_method_, few.margin_scale_) == ("predict_proba", 1.0)
    model = CalibratedModel(Steep(), "logistic").fit(x, y)
    assert model.response_method_ == "decision_function"
    assert model.predict_proba(x) == pytest.approx(few.predict_proba(x / 100), abs=1e-5)


def test_one_margin_that_rounds_to_1_is_no_reason_to_leave_the_probabilities():
    x = np.r_[np.linspace(-3, 3, 198), 40.0, 40.0][:, None]
    model = CalibratedModel.from_prefit(Steep().fit(x, SIDES), x, SIDES, method="logistic")
    assert (model.response_method_, model.margin_scale_) == ("predict_proba", 1.0)


def test_margins_just_beyond_the_probabilities_are_divided_to_log_odds_of_30():
    x = np.linspace(-45, 45, 200)[:, None]
    model = CalibratedModel.from_prefit(Steep().fit(x, SIDES), x, SIDES, method="logistic")
    assert (model.response_method_, model.margin_scale_) == ("decision_function", 1.5)


def test_log_odds_of_a_softmax_are_those_of_its_logits(three):
    y, rng = three[1], np.random.default_rng(0)
    logits = 50 * (rng.normal(size=(200, 3)) + (y[:, None] == np.arange(3)))
    shift = rng.normal(size=(200, 1))
    model = CalibratedModel(Steep(), "logistic").fit(logits, y)
    p = model.predict_proba(logits)
    assert model.response_method_ == "decision_function"
    assert model.predict_proba(logits + shift) == pytest.approx(p)
    assert log_loss(y, p) < log_loss(y, [[1 / 3] * 3] * 200) - 0.1
    assert len(np.unique(p[:, 0])) == 200


def test_a_class_without_rows_for_calibration_is_named(three, texts):
    X, y = three
    model = GaussianNB().fit(X, y)
    with texts.raises(ValueError):
        CalibratedModel.from_prefit(model, X[y != 2], y[y != 2], method="platt")


@pytest.mark.parametrize("method", [5, GaussianNB()])
def test_a_method_of_a_wrong_type_is_refused(method, three, texts):
    with texts.raises(TypeError, f"{method}"):
        CalibratedModel(GaussianNB(), method).fit(*three)


def test_a_calibrator_that_falls_is_named(texts):
    scores = np.repeat([0.2, 0.4, 0.6, 0.8], 100)
    y = np.arange(400) % 100 < np.repeat([20, 60, 30, 90], 100)
    with pytest.warns(UserWarning, match="falls") as caught:
        ScoreCalibrator("spline").fit(scores, y)
    texts(str(caught[0].message))
    ScoreCalibrator(Spline(monotone=True)).fit(scores, y)


def test_margins_that_are_lost_are_counted(texts):
    x = np.r_[np.linspace(-2, 2, 198), 1e4, 2e4][:, None]
    y = np.arange(200) % 2
    with pytest.warns(RuntimeWarning) as caught:
        CalibratedModel.from_prefit(Steep().fit(x, y), x, y, method="logistic")
    texts(str(caught[0].message))


def test_a_fitted_model_is_calibrated_on_other_rows(binary):
    X, y = binary
    train, rest, test = slice(0, 200), slice(200, 400), slice(400, None)
    model = GaussianNB().fit(X[train], y[train])
    made = CalibratedModel.from_prefit(model, X[rest], y[rest], method="beta")
    assert made.estimator_ is model
    fitted = calibrator("beta").fit(model.predict_proba(X[rest])[:, 1], y[rest])
    expected = fitted.predict(model.predict_proba(X[test])[:, 1])
    assert made.predict_proba(X[test])[:, 1].tolist() == expected.tolist()
    assert log_loss(y[test], made.predict_proba(X[test])) < log_loss(
        y[test], model.predict_proba(X[test])
    )


def test_a_fitted_model_of_many_classes_and_text_labels(digits, texts):
    X, y = digits
    labels = np.array(list("abcdefghij"))[y]
    model = GaussianNB().fit(X[:900], labels[:900])
    made = CalibratedModel.from_prefit(model, X[900:], labels[900:], method="isotonic")
    assert len(made.calibrators_) == 10
    assert made.predict_proba(X[:5]).sum(axis=1) == pytest.approx(1.0)
    with texts.raises(ValueError):
        CalibratedModel.from_prefit(model, X[:2], ["a", "z"])


@pytest.mark.parametrize(("given", "folds"), [({}, 5), ({"cv": 3, "random_state": 7}, 3)])
def test_folds_are_stratified_and_drawn_with_the_seed(given, folds, binary):
    X, y = binary
    drawn = StratifiedKFold(folds, shuffle=True, random_state=given.get("random_state", 0))
    ours = CalibratedModel(GaussianNB(), "beta", **given).fit(X, y)
    model = CalibratedModel(GaussianNB(), "beta", cv=drawn).fit(X, y)
    assert ours.predict_proba(X).tolist() == model.predict_proba(X).tolist()


def test_two_rows_of_a_class_are_enough():
    X, y = np.arange(20.0)[:, None], (np.arange(20) >= 18).astype(int)
    two = StratifiedKFold(2, shuffle=True, random_state=0)
    ours, named = (CalibratedModel(GaussianNB(), "platt", cv=cv).fit(X, y) for cv in (5, two))
    assert ours.predict_proba(X).tolist() == named.predict_proba(X).tolist()


def test_rows_of_weight_0_have_no_part_in_the_calibration(binary):
    X, y = binary
    model, weight = GaussianNB().fit(X, y), np.arange(len(y)) % 3.0
    ours = CalibratedModel.from_prefit(model, X, y, weight, method="beta")
    used = weight > 0
    few = CalibratedModel.from_prefit(model, X[used], y[used], weight[used], method="beta")
    assert ours.predict_proba(X).tolist() == few.predict_proba(X).tolist()


def test_a_refit_forgets_the_names_of_the_features(three):
    X, y = three
    named = pd.DataFrame(X[:, :2], columns=["a", "b"])
    model = CalibratedModel(GaussianNB(), "platt").fit(named, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert not hasattr(model.fit(X, y), "feature_names_in_")
    step = ScoreCalibrator("platt").fit(named[["a"]].rank(pct=True), y == 1)
    assert step.get_feature_names_out().tolist() == ["a"]
    assert not hasattr(step.fit(named["a"].rank(pct=True).to_numpy(), y == 1), "feature_names_in_")
    assert step.get_feature_names_out().tolist() == ["x0"]


def test_a_failed_fit_leaves_no_model(three, texts):
    X, y = three
    # Scores of the folds are refused only after the model is fitted on all rows.
    model = CalibratedModel(GaussianNB(), "platt", cv=[(np.arange(200), np.arange(9))])
    for fitted in (model, CalibratedModel(GaussianNB(), "platt").fit(X, y)):
        with texts.raises(ValueError):
            fitted.set_params(cv=model.cv).fit(X, y)
        assert not [name for name in vars(fitted) if name.endswith("_")]
        with pytest.raises(NotFittedError):
            fitted.predict_proba(X)


def test_the_calibrated_column_keeps_its_frame_and_name():
    frame = pd.DataFrame({"p": [0.1, 0.4, 0.6, 0.9]}, index=[7, 8, 9, 10])
    step = ScoreCalibrator("platt").set_output(transform="pandas").fit(frame, [0, 1, 0, 1])
    made = step.transform(frame)
    assert (made.columns.tolist(), made.index.tolist()) == (["p"], [7, 8, 9, 10])
    with pytest.raises(ValueError, match="feature names"):
        step.transform(frame.rename(columns={"p": "q"}))


def test_a_missing_label_is_no_class(texts):
    scores = [[0.1], [0.2], [0.3], [0.4]]
    for missing in (np.nan, None):
        labels = np.array([1.0, missing, 1.0, 1.0], dtype=float if missing else object)
        with texts.raises(ValueError, f"{missing}"):
            ScoreCalibrator("platt").fit(scores, labels)
    assert get_tags(ScoreCalibrator()).classifier_tags.multi_class is False
