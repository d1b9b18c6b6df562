"""Calibrators for scikit-learn: a model with its calibrator, and a step of a pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
    clone,
)
from sklearn.model_selection import (
    BaseCrossValidator,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from calib.calibrators import Calibrator
from calib.calibrators.base import fitted_anew
from calib.calibrators.inverse import largest_fall
from calib.calibrators.registry import unfitted
from calib.data.cells import cluster_codes
from calib.data.checks import check_scores
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.class_scores import divide_by_sum, softmax
from calib.numerics.transforms import sigmoid
from calib.text import plural

# At log-odds of 30 a score is 1 - 1e-13, so margins that differ by 0.002 have different scores. At
# 37 it is exactly 1.
MAX_LOG_ODDS = 30.0
# Margins beyond this multiple of their 99% quantile do not set the scale.
MAX_TAIL = 8.0


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier with calibrated probabilities. The calibrator is fitted out-of-fold.

    The rows are split into folds, and the rows of each fold are scored by a model that was fitted
    on the other folds. One calibrator is fitted on all these out-of-fold scores, and one model is
    fitted on all rows. So no rows are set aside for calibration, and only one model is kept.

    With more than two classes, each class has a one-vs-rest calibrator, and each row of calibrated
    probabilities is divided by its sum. If that sum is 0, the row keeps its uncalibrated scores.

    Parameters
    ----------
    estimator : classifier
        A classifier with ``predict_proba``, or with ``decision_function``, to which the sigmoid is
        applied. If it has both, its margins are used where its probabilities are 0 or 1 for
        different margins.
    method : str or Calibrator
        Key of a calibrator, or an unfitted calibrator with its parameters.
    cv : int, splitter or iterable
        Number of stratified folds (fewer if a class has fewer rows), or any other value that
        scikit-learn accepts for `cv`.
    n_jobs : int or None
        Number of folds that are fitted in parallel.
    random_state : int or None
        Seed of the folds if `cv` is a number.

    Notes
    -----
    With ``sklearn.set_config(enable_metadata_routing=True)``, `fit` routes its arguments to the
    model and to `cv` as these request them. Otherwise `groups` are passed to `cv`, and all other
    arguments to the model. Weights reach the last step of a Pipeline and the model of a search.

    Attributes
    ----------
    classes_ : ndarray of shape (m,)
        Class labels.
    estimator_ : classifier
        The model, fitted on all rows.
    calibrators_ : list of Calibrator
        One calibrator for two classes, otherwise one per class.
    response_method_ : str
        "predict_proba" or "decision_function", of which the scores are made.
    margin_scale_ : float
        Margins are divided by it before the sigmoid. It is 1, or so large that the margins of the
        fitted rows have different scores.
    n_features_in_, feature_names_in_
        Those of `estimator_`, if it has them.

    References
    ----------
    Lucena 2018, "Spline-based probability calibration", algorithms 3 and 4, arXiv:1809.07751.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CalibratedModel(GaussianNB(), method="beta").fit(X[:400], y[:400])
    >>> model.predict_proba(X[400:403]).round(2)
    array([[0.99, 0.01],
           [0.  , 1.  ],
           [0.01, 0.99]])
    """

    def __init__(
        self,
        estimator: Any,
        method: str | Calibrator = "spline",
        *,
        cv: int | BaseCrossValidator | Iterable[Any] = 5,
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the calibrator on out-of-fold scores, and the model on all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), optional
            Weights, at least 0. They are also passed to the ``fit`` of the model; a warning says
            if it accepts none. Rows of weight 0 are not used for calibration.
        groups : array-like of shape (n,), optional
            Group (cluster) of each row, any hashable values. If `cv` is a number, no group is in
            two folds. The calibrator counts the rows of a group as the number of independent rows
            with the same information. A row without a group (None, NaN) is one by itself.
        **fit_params
            Further arguments of the ``fit`` of the model. Arrays of n values are cut into folds.

        Raises
        ------
        ValueError
            If there are fewer than two classes, a class has only one row or is in only one group,
            or the model does not give one column per class.
        """
        with fitted_anew(self):
            return self._fit(X, y, sample_weight, groups, fit_params)

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        fit_params: dict[str, Any],
    ) -> Self:
        X, y = indexable(X, y)
        y = _labels(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        clusters = None if groups is None else cluster_codes(groups, len(y))
        passed, split_by = self._routed(weight, clusters, fit_params)
        # The model is fitted first, so that it refuses unusable X and y in its own words.
        self.estimator_ = clone(self.estimator).fit(X, y, **passed)
        splits = list(self._folds(codes, clusters).split(X, y, **split_by))
        return self._calibrate(self._out_of_fold(X, y, splits, passed), y, weight, clusters)

    def _routed(
        self, weight: FloatArray | None, clusters: IntArray | None, fit_params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arguments of the model's ``fit``, and of the ``split`` of `cv`."""
        given = {"sample_weight": weight, "groups": clusters}
        given = {name: values for name, values in given.items() if values is not None}
        # The folds of a number are drawn here, so `cv` cannot request their groups.
        split_by = {name: values for name, values in given.items() if name == "groups"}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given, **fit_params)
            drawn = isinstance(self.cv, Integral)
            return routed["estimator"]["fit"], split_by if drawn else routed["splitter"]["split"]
        if weight is None:
            return fit_params, split_by
        name = _weight_parameter(self.estimator)
        if name in fit_params:
            return fit_params, split_by
        if not name:
            warnings.warn(
                f"The fit of {type(self.estimator).__name__} accepts no sample_weight, so only the "
                "calibrator uses the weights.",
                UserWarning,
                stacklevel=4,
            )
            return fit_params, split_by
        return {name: weight, **fit_params}, split_by

    def get_metadata_routing(self) -> MetadataRouter:
        """Where `fit` passes its arguments, for scikit-learn's metadata routing."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
            .add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )

    def _out_of_fold(
        self,
        X: Any,
        y: NDArray[Any],
        splits: list[tuple[IntArray, IntArray]],
        passed: dict[str, Any],
    ) -> dict[str, FloatArray]:
        """Responses for each row by a model that was fitted on the other folds.

        They are fitted on the real labels. `cross_val_predict` would fit them on 0..k-1, which are
        not the labels that class weights, monotone constraints and models of one's own know.
        """
        _check_partition([test for _, test in splits], len(y))
        methods = _response_methods(self.estimator_)
        of_folds = Parallel(n_jobs=self.n_jobs)(
            delayed(_responses_of_fold)(
                clone(self.estimator), X, y, train, test, methods, self.classes_, passed
            )
            for train, test in splits
        )
        order = np.argsort(np.concatenate([test for _, test in splits]))
        return {
            method: np.concatenate([responses[method] for responses in of_folds])[order]
            for method in methods
        }

    @classmethod
    def from_prefit(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        method: str | Calibrator = "spline",
    ) -> Self:
        """Calibrate a fitted model on held-out rows. The model is not fitted again.

        Parameters
        ----------
        model : fitted classifier
        X : array-like of shape (n, d)
            Calibration rows, on which the model was not trained.
        y : array-like of shape (n,)
            Labels of these rows. Each must be a class of the model.
        sample_weight : array-like of shape (n,), optional
            Weights, at least 0. Rows of weight 0 are not used.
        groups : array-like of shape (n,), optional
            Group (cluster) of each row, see `fit`.
        method : str or Calibrator
            Key of a calibrator, or an unfitted calibrator with its parameters.

        Raises
        ------
        ValueError
            If a label is not a class of the model, or there are no rows of a class.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = GaussianNB().fit(X[:200], y[:200])
        >>> made = CalibratedModel.from_prefit(model, X[200:400], y[200:400], method="beta")
        >>> made.predict_proba(X[400:402]).round(2)
        array([[0.99, 0.01],
               [0.  , 1.  ]])
        """
        check_is_fitted(model)
        made = cls(model, method)
        y = np.asarray(column_or_1d(y, warn=True))
        made.classes_, made.estimator_ = np.unique(model.classes_), model
        unknown = np.setdiff1d(y, made.classes_)
        if len(unknown):
            raise ValueError(f"y must hold classes of the model, got {unknown.tolist()[0]!r}.")
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        clusters = None if groups is None else cluster_codes(groups, len(y))
        responses = {
            method: _response(model, X, method, made.classes_)
            for method in _response_methods(model)
        }
        return made._calibrate(responses, y, weight, clusters)

    def _calibrate(
        self,
        responses: dict[str, FloatArray],
        y: ArrayLike,
        weight: FloatArray | None,
        clusters: IntArray | None,
    ) -> Self:
        """Fit one calibrator per class, or of two classes one for the second."""
        label = np.asarray(y)
        columns = range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))
        scores = self._choose_scores(responses, slice(columns.start, columns.stop))
        used = slice(None) if weight is None else weight > 0.0
        missing = np.setdiff1d(self.classes_, label[used])
        if len(missing):
            raise ValueError(
                "The rows for calibration must contain every class of the model, got none of class "
                f"{missing.tolist()[0]!r}."
            )
        used_weight = None if weight is None else weight[used]
        used_clusters = None if clusters is None else clusters[used]
        self.calibrators_ = [
            unfitted(self.method).fit(
                scores[used, k], label[used] == self.classes_[k], used_weight, used_clusters
            )
            for k in columns
        ]
        _warn_of_falls(self.calibrators_)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _choose_scores(self, responses: dict[str, FloatArray], used: slice) -> FloatArray:
        """Scores of the probabilities, or of the margins if these distinguish more rows."""
        self.response_method_, self.margin_scale_, self._softmax_ = "predict_proba", 1.0, False
        if (probabilities := responses.get("predict_proba")) is not None:
            scores, margins = self._scores(probabilities), responses.get("decision_function")
            if margins is None or not _n_certain(scores[:, used], margins[:, used]):
                return scores
            of_softmax = softmax(margins.copy())
            self._softmax_ = len(self.classes_) > 2 and np.allclose(of_softmax, probabilities)
        margins = responses["decision_function"]
        self.response_method_ = "decision_function"
        self.margin_scale_ = _margin_scale(self._log_odds(margins))
        scores = self._scores(margins)
        if n_lost := _n_certain(scores[:, used], margins[:, used]):
            warnings.warn(
                f"{plural(n_lost, 'different margin')} of {type(self.estimator_).__name__} "
                "have the score 0 or 1, because they are far larger than most others. Their order "
                "is lost.",
                RuntimeWarning,
                stacklevel=5,
            )
        return scores

    def _scores(self, response: FloatArray) -> FloatArray:
        """Scores in [0, 1] of a response of the model."""
        if self.response_method_ == "decision_function":
            return sigmoid(self._log_odds(response) / self.margin_scale_)
        # Means of probabilities, as in a forest, may exceed 1 by rounding errors.
        return np.clip(response, 0.0, 1.0)

    def _log_odds(self, margins: FloatArray) -> FloatArray:
        """Margins as the log-odds of each class against the others."""
        if not self._softmax_:
            return margins
        others = [logsumexp(np.delete(margins, k, axis=1), axis=1) for k in range(margins.shape[1])]
        return margins - np.column_stack(others)

    def _folds(self, codes: NDArray[np.intp], clusters: IntArray | None) -> Any:
        if len(self.classes_) < 2:
            raise ValueError(
                "A calibrated model needs rows of at least two classes, got one class: "
                f"{self.classes_[0]}."
            )
        if not isinstance(self.cv, Integral):
            return check_cv(self.cv, codes, classifier=True)
        if clusters is None:
            kind, unit, counts = StratifiedKFold, "rows", np.bincount(codes)
        else:
            pairs = np.unique(np.column_stack([codes, clusters]), axis=0)
            kind, unit, counts = StratifiedGroupKFold, "groups", np.bincount(pairs[:, 0])
        if counts.min() < 2:
            rare = self.classes_[counts.argmin()]
            raise ValueError(
                f"Every class needs at least 2 {unit}, one to fit and one to predict, got 1 of "
                f"class {rare}."
            )
        n_folds = min(self.cv, int(counts.min()))
        return kind(n_folds, shuffle=True, random_state=self.random_state)

    def predict_proba(self, X: Any) -> FloatArray:
        """Calibrated probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, m)
            Each row sums to 1. Columns are in the order of `classes_`.
        """
        check_is_fitted(self, "estimator_")
        scores = self._scores(_response(self.estimator_, X, self.response_method_, self.classes_))
        if len(self.classes_) == 2:
            positive = self.calibrators_[0].predict(scores[:, 1])
            return np.column_stack([1.0 - positive, positive])
        columns = [fitted.predict(scores[:, k]) for k, fitted in enumerate(self.calibrators_)]
        return divide_by_sum(np.column_stack(columns), scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row of X, shape (n,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags


class ScoreCalibrator(OneToOneFeatureMixin, ClassifierMixin, TransformerMixin, BaseEstimator):
    """A calibrator as a step of a scikit-learn pipeline. Its input is one column of scores.

    As the last step it predicts. As an earlier step it passes the calibrated column on.

    Parameters
    ----------
    method : str or Calibrator
        Key of a calibrator, or an unfitted calibrator with its parameters.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Class labels. The scores are scores of the second.
    calibrator_ : Calibrator
        The fitted calibrator.
    n_features_in_ : int
        1.
    feature_names_in_ : ndarray of shape (1,)
        Name of the column, if X was a data frame.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> points = np.array([[0], [30], [45], [60], [100]])
    >>> steps = make_pipeline(MinMaxScaler(), ScoreCalibrator("isotonic"))
    >>> steps.fit(points, ["no", "no", "yes", "no", "yes"]).predict_proba([[50]])
    array([[0.5, 0.5]])
    """

    def __init__(self, method: str | Calibrator = "spline") -> None:
        self.method = method

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the calibrator.

        Parameters
        ----------
        X : array-like of shape (n, 1) or (n,)
            Scores in [0, 1].
        y : array-like of shape (n,)
            Labels of two classes.
        sample_weight : array-like of shape (n,), optional

        Raises
        ------
        ValueError
            If there are not exactly two classes, a label is missing, or a score is not allowed.
        """
        with fitted_anew(self):
            scores = self._column(X, reset=True)
            self.classes_, codes = np.unique(_labels(y), return_inverse=True)
            if len(self.classes_) != 2:
                raise ValueError(
                    f"One column of scores needs labels of two classes, got {len(self.classes_)}."
                )
            self.calibrator_ = unfitted(self.method).fit(scores, codes == 1, sample_weight)
            _warn_of_falls([self.calibrator_])
            self.n_features_in_ = 1
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Calibrated scores of the column X, shape (n, 1)."""
        check_is_fitted(self, "calibrator_")
        return self.calibrator_.predict(self._column(X, reset=False))[:, None]

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of both classes for each row of X, shape (n, 2)."""
        check_is_fitted(self, "calibrator_")
        positive = self.calibrator_.predict(self._column(X, reset=False))
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most probable class of each row of X, shape (n,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _column(self, X: ArrayLike, *, reset: bool) -> FloatArray:
        validate_data(self, X, reset=reset, skip_check_array=True, ensure_2d=False)
        values = np.asarray(X)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        return check_scores(values, "X")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # Scores are one column, so scikit-learn's checks with several columns do not apply.
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        return tags


def _warn_of_falls(calibrators: Iterable[Calibrator]) -> None:
    for fitted in calibrators:
        if fall := largest_fall(fitted):
            warnings.warn(
                f"{type(fitted).__name__} {fall.words}: rows with higher scores get lower "
                "probabilities there. Spline(monotone=True), Beta and Isotonic do not fall.",
                UserWarning,
                stacklevel=3,
            )


def _labels(y: ArrayLike) -> NDArray[Any]:
    """Class labels of shape (n,). Missing ones are refused."""
    labels = np.asarray(column_or_1d(y, warn=True))
    assert_all_finite(labels, input_name="y")
    if labels.dtype == np.object_ and None in labels:
        row = next(row for row, label in enumerate(labels) if label is None)
        raise ValueError(f"y must have a label in every row, got None at index {row}.")
    check_classification_targets(labels)
    return labels


def _response_methods(model: Any) -> list[str]:
    """The methods of a fitted model that give one column per class."""
    methods = [name for name in ("predict_proba", "decision_function") if hasattr(model, name)]
    if not methods:
        raise ValueError(
            f"estimator must have predict_proba or decision_function, got {type(model).__name__}."
        )
    n_classes = len(model.classes_)
    inner = model
    while isinstance(inner, Pipeline | BaseSearchCV):
        inner = inner[-1] if isinstance(inner, Pipeline) else inner.best_estimator_
    # With three classes there are as many pairs as classes, so the columns cannot be counted.
    of_pairs = n_classes > 2 and getattr(inner, "decision_function_shape", None) == "ovo"
    if not of_pairs:
        return methods
    if "predict_proba" in methods:
        return ["predict_proba"]
    raise ValueError(
        "estimator must give one column for each class, got pairs of classes from "
        f"{type(inner).__name__}(decision_function_shape='ovo'). Use "
        "decision_function_shape='ovr'."
    )


def _weight_parameter(estimator: Any) -> str:
    """The argument of ``fit`` that takes the weights to the model, or "" if there is none."""
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = _weight_parameter(last)
        return inner and f"{name}__{inner}"
    return _weight_parameter(estimator.estimator) if isinstance(estimator, BaseSearchCV) else ""


def _responses_of_fold(
    model: Any,
    X: Any,
    y: NDArray[Any],
    train: IntArray,
    test: IntArray,
    methods: list[str],
    classes: NDArray[Any],
    passed: dict[str, Any],
) -> dict[str, FloatArray]:
    """Fit a model on the rows of `train`, and return its responses for the rows of `test`."""
    fitted_X, fitted_y = _safe_split(model, X, y, train)
    scored_X, _ = _safe_split(model, X, y, test, train)
    model.fit(fitted_X, fitted_y, **_check_method_params(X, passed, train))
    missing = np.setdiff1d(classes, fitted_y)
    if len(missing):
        warnings.warn(
            f"The training rows of a fold contain no row of class {missing[0]}, so the rows of "
            "this fold have the score 0 for this class. Use fewer or stratified folds.",
            RuntimeWarning,
            stacklevel=2,
        )
    return {method: _response(model, scored_X, method, classes) for method in methods}


def _check_partition(tests: list[IntArray], n_rows: int) -> None:
    times = np.bincount(np.concatenate(tests), minlength=n_rows)
    if (times != 1).any():
        raise ValueError(
            "cv must put every row into exactly one test fold, got "
            f"{np.count_nonzero(times == 0):,} rows in none and "
            f"{np.count_nonzero(times > 1):,} in several."
        )


def _response(model: Any, X: Any, method: str, classes: NDArray[Any]) -> FloatArray:
    """What a fitted model says of rows, one column per class in the order of `classes`.

    The order of a model's columns is that of its own `classes_`. A class that it does not have gets
    the probability 0, or the margin -inf.
    """
    fitted_classes = np.asarray(model.classes_)
    place = np.minimum(np.searchsorted(classes, fitted_classes), len(classes) - 1)
    unknown = fitted_classes[classes[place] != fitted_classes]
    if len(unknown):
        raise ValueError(
            f"classes_ of the fitted estimator must be labels of y, got {unknown.tolist()[0]!r}."
        )
    given = np.asarray(getattr(model, method)(X), dtype=np.float64)
    if given.ndim == 1:
        given = np.column_stack([-given, given])
    if given.shape[1] != len(fitted_classes):
        raise ValueError(
            f"estimator must give one column for each of {len(fitted_classes)} classes, "
            f"got {given.shape[1]} columns."
        )
    absent = 0.0 if method == "predict_proba" else -np.inf
    placed = np.full((len(given), len(classes)), absent)
    placed[:, place] = given
    return placed


def _margin_scale(margins: FloatArray) -> float:
    """Divisor of margins that keeps their sigmoid away from 0 and 1, at least 1.

    A few margins that are far larger than all others do not change it.
    """
    size = np.abs(margins[np.isfinite(margins)])
    if not len(size):
        return 1.0
    largest = min(float(size.max()), MAX_TAIL * float(np.quantile(size, 0.99)))
    return max(1.0, largest / MAX_LOG_ODDS)


def _n_certain(scores: FloatArray, margins: FloatArray) -> int:
    """Number of margins that share the score 0 or 1 with a different margin of their class."""
    shared = 0
    for score, margin in zip(scores.T, margins.T, strict=True):
        for certain in (0.0, 1.0):
            different = np.unique(margin[(score == certain) & np.isfinite(margin)])
            shared += len(different) if len(different) > 1 else 0
    return shared
