"""Base classes of calibrators: scikit-learn estimators that map scores or rows of class scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from calib.calibrators.forms import ON_ARRAYS, Form, RowsForm
from calib.data.cells import ScoreCells
from calib.data.checks import (
    check_classes,
    check_outcomes,
    check_same_length,
    check_score_matrix,
    check_scores,
    check_weights,
    effective_weights,
)
from calib.numerics.arrays import FloatArray, IntArray, check_kinds, single_thread
from calib.numerics.class_scores import binary_problem, lowest_logarithm
from calib.numerics.score_grid import middles, written
from calib.numerics.transforms import EpsilonRule

LARGEST_LOG_ODDS = 1e100  # Their products with slopes are finite.
Exported = TypeVar("Exported", Form, RowsForm)


@contextmanager
def fitted_anew(estimator: BaseEstimator) -> Iterator[None]:
    """Forget an earlier fit, and forget an unfinished one if it fails."""
    _forget(estimator)
    check_kinds(type(estimator), estimator.get_params(deep=False))
    try:
        yield
    except BaseException:
        _forget(estimator)
        raise


def _forget(estimator: BaseEstimator) -> None:
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


class AnyCalibrator(BaseEstimator, Generic[Exported]):
    """Base of calibrators of scores and of matrices."""

    def __getattr__(self, name: str) -> Any:
        is_special = name.startswith("__")
        if name.endswith("_") and not is_special and "n_rows_" not in vars(self):
            raise NotFittedError(
                f"{type(self).__name__} has no {name} before it is fitted. Call fit first."
            )
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return " ".join(super().__repr__(N_CHAR_MAX).split())

    def formula(self) -> str:
        """Describe the fitted function in words and numbers."""
        raise NotImplementedError

    def to_map(self) -> Exported:
        """The fitted function as data, for exports.

        If a calibrator has its own `_map`, this function gives the same numbers within 1e-12.
        """
        raise NotImplementedError(
            f"{type(self).__name__} cannot be exported: it has no to_map, which gives it as "
            "data (calib/calibrators/forms.py)."
        )


class Calibrator(AnyCalibrator[Form]):
    """Base of all calibrators of one score per row.

    A method is one subclass in one file. It has parameters in ``__init__``; `_fit`, which reads
    cells and sets attributes that end in an underscore; `to_map`, which returns the fitted function
    as data (and `_map`, if NumPy applies it faster); and `formula`, which describes it. A fit that
    fails deletes all attributes that end in an underscore. Monotone methods set `monotone`. The
    weights in `_fit` are in effective rows, so that methods do not depend on the unit of the
    weights.
    """

    monotone: bool = True
    needs_both_classes: bool = True
    # The rule of the automatic epsilon, for methods that have the parameter `epsilon`.
    epsilon_rule: EpsilonRule = "symmetric"

    def fit(
        self,
        scores: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the calibrator on held-out scores and outcomes.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Uncalibrated scores in [0, 1].
        y : array-like of shape (n,)
            Outcomes, 0 or 1.
        sample_weight : array-like of shape (n,), optional
            Weights, all above 0. Only their ratios matter. The number of effective rows is
            (sum w)^2 / sum w^2.
        groups : array-like of shape (n,), optional
            Group (cluster) of each row, any hashable values. Rows of a group are not independent
            and count as the number of independent rows with the same information. A row without a
            group (None, NaN) is one by itself.

        Raises
        ------
        ValueError
            If the arrays are empty, contain NaN or values outside their range, or all outcomes are
            of one class.
        """
        with fitted_anew(self):
            cells = ScoreCells.from_arrays(y, scores, sample_weight, groups, names=("y", "scores"))
            return self.fit_cells(cells)

    def fit_cells(self, cells: ScoreCells) -> Self:
        """Fit the calibrator on rows that were counted into cells."""
        return self._fit_by(self._fit, cells)

    def _fit_by(self, fit: Callable[[ScoreCells], None], cells: ScoreCells) -> Self:
        with fitted_anew(self):
            if cells.one_class:
                self._refuse_one_class(cells.total_positive > 0.0)
            if cells.step:
                cells = replace(cells, score=middles(cells.score, cells.step))
            with single_thread():
                fit(cells.in_effective_rows())
            self.n_rows_ = cells.n_rows
            self._note(cells.score[[0, -1]], cells.base_rate, cells.step)
        return self

    def _note(self, scores: FloatArray, base_rate: float, step: float = 0.0) -> None:
        """Store the facts about the fitted rows that an exported calibrator contains."""
        self.fitted_range_ = (float(scores.min()), float(scores.max()))
        self.fitted_base_rate_, self.step_ = (base_rate,), step

    def _refuse_one_class(self, only: bool) -> None:
        if self.needs_both_classes:
            raise ValueError(
                f"{type(self).__name__} needs rows of both classes to fit, got only class "
                f"{int(only)}."
            )

    def predict(self, scores: ArrayLike, log_odds: ArrayLike | None = None) -> FloatArray:
        """Calibrated probabilities of new scores.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Scores in [0, 1]. Scores outside the range of the fitted scores are allowed.
        log_odds : array-like of shape (n,), optional
            Log-odds of the scores. Calibrators on the log-odds read these, because scores near 0
            and 1 have few digits of them.

        Returns
        -------
        ndarray of shape (n,)
            Probabilities in [0, 1].

        Raises
        ------
        ValueError
            If a number is NaN, a score is outside [0, 1], or the arrays differ in length.
        sklearn.exceptions.NotFittedError
            If the calibrator is not fitted.
        """
        check_is_fitted(self, "n_rows_")
        checked = middles(check_scores(scores, "scores"), self.step_)
        if log_odds is None:
            return np.clip(self._map(checked), 0.0, 1.0)
        given = np.asarray(log_odds, dtype=np.float64)
        check_same_length(scores=checked, log_odds=given)
        if np.isnan(given).any():
            raise ValueError("log_odds must be numbers, got nan.")
        # A slope of 0 times an infinite number is not 0.
        finite = np.clip(given, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        return np.clip(self._map_log_odds(checked, finite), 0.0, 1.0)

    def described(self) -> str:
        """The formula, and how scores of 0 and 1 are read if the fitted scores have a step."""
        if not self.step_:
            return self.formula()
        low, high = map(written, middles(np.array([0.0, 1.0]), self.step_).tolist())
        return f"{self.formula()}. A score of 0 is read as {low}, and 1 as {high}"

    def _fit(self, cells: ScoreCells) -> None:
        raise NotImplementedError

    def left_out(self, cells: ScoreCells) -> tuple[FloatArray, FloatArray]:
        """Log-odds of each cell if one of its negative rows, or of its positive ones, is left out.

        `cells` are those of the fit, in effective rows. A stack weighs its members by these.
        """
        raise ValueError(
            f"{type(self).__name__} cannot leave out each of {len(cells):,} cells without a fit "
            "for each, so it cannot be a member of a stack."
        )

    def _map(self, scores: FloatArray) -> FloatArray:
        return np.asarray(self.to_map()(ON_ARRAYS, scores))

    def _map_log_odds(self, scores: FloatArray, log_odds: FloatArray) -> FloatArray:  # noqa: ARG002
        """The same for scores whose log-odds are known. Methods that read these override it."""
        return self._map(scores)

    def knots(self) -> FloatArray:
        """Scores at which the function changes its formula: `knots_`, if the method has these."""
        return np.asarray(getattr(self, "knots_", np.empty(0)))

    def n_parameters(self) -> float:
        """Number of fitted parameters, or the effective degrees of freedom of a smooth curve.

        NaN if neither is defined, such as for penalised coefficients.
        """
        return math.nan


class RowCalibrator(Calibrator):
    """Base of calibrators that read unsorted rows.

    Counting rows into cells needs a sort, which would take longer than these fits.
    """

    def fit(
        self,
        scores: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the calibrator on held-out scores and outcomes, see `Calibrator.fit`."""
        if groups is not None:
            return super().fit(scores, y, sample_weight, groups)
        with fitted_anew(self):
            outcome, score = check_outcomes(y, "y"), check_scores(scores, "scores")
            check_same_length(y=outcome, scores=score)
            if sample_weight is None:
                weight, positive = np.ones(len(score)), outcome.astype(np.float64)
            else:
                weight = effective_weights(check_weights(sample_weight))
                check_same_length(y=outcome, sample_weight=weight)
                positive = np.where(outcome, weight, 0.0)
            if outcome.all() or not outcome.any():
                self._refuse_one_class(bool(outcome[0]))
            with single_thread():
                self._fit_rows(score, positive, weight)
            self.n_rows_ = len(score)
            self._note(score, float(positive.sum() / weight.sum()))
        return self

    def _fit(self, cells: ScoreCells) -> None:
        self._fit_rows(cells.score, cells.positive, cells.weight)

    def _fit_rows(self, scores: FloatArray, positive: FloatArray, weight: FloatArray) -> None:
        raise NotImplementedError


class MatrixCalibrator(AnyCalibrator[RowsForm]):
    """Base of all multiclass calibrators.

    A method is one subclass in one file. It has parameters in ``__init__``; `_fit`, which sets
    attributes that end in an underscore; `_map`, which applies them; and `formula`, which describes
    the fitted function. `_fit` and `_map` may overwrite the matrix that they receive. Methods that
    never change which class has the highest score set `keeps_accuracy`.

    Attributes
    ----------
    n_rows_, n_classes_ : int
        Numbers of fitted rows and of classes.
    unseen_ : tuple of int
        Classes that have no fitted row. Their calibration has no evidence.
    lowest_ : float
        Lower scores are raised to it where logarithms are taken: the lowest fitted score, or
        2.2e-16 if that is lower, or if a fitted score is 0.
    """

    keeps_accuracy: bool = False
    needs_two_classes: bool = True

    def fit(
        self,
        scores: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the calibrator on held-out scores and labels.

        Parameters
        ----------
        scores : array-like of shape (n, m)
            Uncalibrated scores in [0, 1]. Each row must sum to 1 within 1e-3.
        y : array-like of shape (n,)
            Class indices 0..m-1.
        sample_weight : array-like of shape (n,), optional
            Weights, all above 0. Only their ratios matter. The number of effective rows is
            (sum w)^2 / sum w^2.
        groups : array-like of shape (n,), optional
            Group (cluster) of each row, any hashable values. Rows of a group are not independent
            and count as the number of independent rows with the same information. A row without a
            group (None, NaN) is one by itself.

        Raises
        ------
        ValueError
            If the arrays are empty, contain NaN or values outside their range, a row does not sum
            to 1, or all rows are of one class.
        """
        with fitted_anew(self):
            return self._fit_matrix(scores, y, sample_weight, groups)

    def _fit_matrix(
        self,
        scores: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> Self:
        matrix = _matrix(scores)
        label = check_classes(y, matrix.shape[1], "y")
        check_same_length(scores=matrix, y=label)
        weight = None if sample_weight is None else check_weights(sample_weight)
        if weight is not None:
            check_same_length(scores=matrix, sample_weight=weight)
        counts = np.bincount(label, minlength=matrix.shape[1])
        if self.needs_two_classes and counts.max() == len(label):
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes to fit, "
                f"got only class {label[0]}."
            )
        self.n_rows_, self.n_classes_ = matrix.shape
        self.unseen_ = tuple(np.flatnonzero(counts == 0).tolist())
        self.lowest_ = lowest_logarithm(matrix)
        shares = np.bincount(label, weight, matrix.shape[1])
        self.fitted_base_rate_ = tuple((shares / shares.sum()).tolist())
        with single_thread():
            self._fit_rows(matrix, label, weight, groups)
        return self

    def predict(self, scores: ArrayLike) -> FloatArray:
        """Calibrated probabilities of new rows.

        Parameters
        ----------
        scores : array-like of shape (n, m)
            Scores in [0, 1]. Each row must sum to 1 within 1e-3.

        Returns
        -------
        ndarray of shape (n, m)
            Probabilities in [0, 1]. Each row sums to 1.

        Raises
        ------
        ValueError
            If the number of classes differs from that of the fitted rows, or a score is not
            allowed.
        """
        check_is_fitted(self, "n_rows_")
        matrix = _matrix(scores)
        if matrix.shape[1] != self.n_classes_:
            raise ValueError(
                f"scores must have the {self.n_classes_} class columns that were fitted, "
                f"got {matrix.shape[1]}."
            )
        with single_thread():
            return self._map(matrix)

    def _fit_rows(
        self,
        scores: FloatArray,
        label: IntArray,
        weight: FloatArray | None,
        groups: ArrayLike | None,
    ) -> None:
        """Fit with weights in effective rows, which groups reduce by their design effect."""
        if weight is not None or groups is not None:
            confidence, correct = binary_problem(scores, label, "top", 1)
            cells = ScoreCells.from_arrays(correct, confidence, weight, groups)
            ones = np.ones(len(label)) if weight is None else weight
            weight = effective_weights(ones) / cells.design_effect
        self._fit(scores, label, weight)

    def _fit(self, scores: FloatArray, label: IntArray, weight: FloatArray | None) -> None:
        raise NotImplementedError

    def _map(self, scores: FloatArray) -> FloatArray:
        raise NotImplementedError


def _matrix(scores: ArrayLike) -> FloatArray:
    matrix = np.asarray(scores)
    if matrix.ndim != 2:
        raise ValueError(
            f"scores must be a matrix of one column per class, got shape {matrix.shape}."
        )
    return check_score_matrix(matrix, "scores")
