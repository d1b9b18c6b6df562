"""The result classes of an analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from textwrap import fill
from typing import Any

import pandas as pd

from calib.analysis.recommendation import Recommendation
from calib.analysis.verdict import Verdict, adjusted
from calib.crossfit.cross_fitted import CrossFitted, MethodMetrics, by_loss, metric_table
from calib.crossfit.matrix_comparison import (
    LiveMulticlassComparison,
    MulticlassComparison,
)
from calib.crossfit.settings import Settings
from calib.curves.functions import CalibrationFunction, CompactLogitCurve
from calib.curves.reliability import CumulativeCurve, ReliabilityCurve
from calib.data.base import Data
from calib.data.origin import CORRECT_NAMES, Origin, read_as
from calib.metrics import TestResult
from calib.metrics.base import Better
from calib.numerics.arrays import FloatArray
from calib.text import number, percent, plural
from calib.words.findings import ViewWords, view_words

# A double has at most 17 significant digits.
MAX_DIGITS = 17
# Notebooks break lines of more characters, within words.
REPR_WIDTH = 120
# These columns are shown when an analysis is printed.
# An outcome of one of these names is positive if an answer is right.
PRINTED_COLUMNS = ("log_loss", "brier_score", "ece_quantile", "ks_error", "slope", "auc")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the metric table: key, heading, meaning and number of digits.

    `better` is "lower", "higher", "one" (nearer to 1 is better) or "none". `convention` is the
    definition that is used if the field has several.
    """

    key: str
    label: str
    meaning: str
    digits: int = 4
    better: Better = "lower"
    convention: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.digits <= MAX_DIGITS:
            raise ValueError(f"digits must fulfil 0 <= digits <= {MAX_DIGITS}, got {self.digits}.")


@dataclass(frozen=True, slots=True)
class DataSummary:
    """Summary of the data.

    Attributes
    ----------
    name, fingerprint, score_name, outcome_name, positive_name : str
    n_rows, n_calibration : int
        Number of rows that are scored, and of rows on which the plotted calibrators were fitted.
    n_positive : int
        Number of positive rows among those that are scored.
    base_rate, mean_score : float
        Weighted observed frequency, and weighted mean score.
    n_distinct : int
        Number of distinct scores.
    protocol : {"test rows", "folds"}
        How the held-out scores were made.
    weighted : bool
        Whether rows have weights.
    set_aside : mapping of str to int
        Number of rows of the file that were left out, by reason.
    origin : Origin or None
        How the file was read. None if the rows came from arrays.
    named_folds : int
        Number of folds that the data name, or 0 if folds are random.
    """

    name: str
    fingerprint: str
    score_name: str
    outcome_name: str
    positive_name: str
    n_rows: int
    n_calibration: int
    n_positive: int
    base_rate: float
    mean_score: float
    n_distinct: int
    protocol: str
    weighted: bool
    set_aside: Mapping[str, int]
    origin: Origin | None
    named_folds: int

    @property
    def has_answers(self) -> bool:
        """Whether a row is an answer, which is right if it is positive, and a score its confidence.

        The outcome is then called "correct", or it says whether the predicted label is right.
        """
        predicted = self.origin is not None and self.origin.columns.predicted is not None
        return predicted or self.outcome_name.casefold() in CORRECT_NAMES

    @property
    def read_as(self) -> str:
        """What the columns were read as, and which of it was guessed."""
        return read_as(
            self.origin,
            outcome=self.outcome_name,
            score=self.score_name,
            positive=self.positive_name,
        )


@dataclass(frozen=True, slots=True, eq=False)
class MethodResult(MethodMetrics):
    """All results of one method on held-out rows.

    Attributes
    ----------
    key, label : str
    metrics : mapping of str to Estimate
        Metrics by column key: log_loss, brier_score, ece_uniform, ece_quantile, mce, ks_error,
        slope, auc, distinct, and those that the settings add.
    differences : mapping of str to Estimate
        Differences of log_loss, brier_score and auc from the uncalibrated scores, paired by row.
    reliability : ReliabilityCurve
    histogram : ndarray of shape (50,)
        Weight of the scores in 50 equal intervals of [0, 1].
    cumulative : CumulativeCurve
    ks : TestResult
        KS test of the held-out scores. If groups are named, it is by cluster.
    function : CalibrationFunction
        The calibrator fitted on all calibration rows. A calibrator of whole rows of a matrix has no
        curve.
    tests : mapping of str to TestResult
        Other tests of the held-out scores: kuiper, spiegelhalter, hosmer_lemeshow, and line (the
        likelihood-ratio test of slope 1 and intercept 0). If groups are named, they are by cluster.
    """

    reliability: ReliabilityCurve
    histogram: FloatArray
    cumulative: CumulativeCurve
    ks: TestResult
    function: CalibrationFunction
    tests: Mapping[str, TestResult]

    @property
    def all_tests(self) -> dict[str, TestResult]:
        """The KS test and the other tests by key."""
        return {"ks": self.ks, **self.tests}


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """All results for one set of predictions and one set of settings.

    Attributes
    ----------
    settings : Settings
        The settings, with the view that was used.
    data : DataSummary
    columns : tuple of Column
        Columns of the metric table, in order.
    methods : mapping of str to MethodResult
        Results by method key, "uncalibrated" first and the others by held-out log loss, as in all
        controls and legends. For a matrix, in the view of the settings.
    fitted_reliability : ReliabilityCurve
        Curve of the uncalibrated scores of the rows on which the calibrators were fitted.
    compact_logit : CompactLogitCurve
    verdict : Verdict
    recommendation : Recommendation
    warnings : tuple of str
        Limitations of the data or the results, one sentence each.
    multiclass : MulticlassComparison or None
        Results for the whole matrix, independent of the view. None if there is one score per row.
    after : Verdict or None
        Verdict of the held-out scores of the recommended calibrator. None if none is recommended.
    """

    settings: Settings
    data: DataSummary
    columns: tuple[Column, ...]
    methods: Mapping[str, MethodResult]
    fitted_reliability: ReliabilityCurve
    compact_logit: CompactLogitCurve
    verdict: Verdict
    recommendation: Recommendation
    warnings: tuple[str, ...]
    multiclass: MulticlassComparison | None = None
    after: Verdict | None = None

    def __repr__(self) -> str:
        """A summary for one screen: verdict, recommendation, main metrics and data."""
        data, shown = (
            self.data,
            [column for column in self.columns if column.key in PRINTED_COLUMNS],
        )
        metrics = {
            f"{method.label} *" if key == self.recommendation.method else method.label: {
                column.label: number(method.metrics[column.key].value, column.digits)
                for column in shown
            }
            for key, method in ((key, self.methods[key]) for key in self.ranked)
        }
        sentences = (self.verdict.sentence, self.recommendation.sentence, self.after_sentence)
        return "\n".join(
            [
                *(fill(text, REPR_WIDTH, break_on_hyphens=False) for text in sentences if text),
                "",
                pd.DataFrame.from_dict(metrics, orient="index").to_string(max_colwidth=24),
                "",
                f"Data: {data.name}, {plural(data.n_rows, 'row')}, {percent(data.base_rate)} "
                f"positive; scored on {data.protocol}; {plural(len(self.warnings), 'warning')}.",
            ]
        )

    @property
    def ranked(self) -> tuple[str, ...]:
        """Keys of the methods by log loss, the lowest first. Of a matrix it counts all classes."""
        return by_loss(self.ranked_results)

    @property
    def ranked_results(self) -> Mapping[str, MethodMetrics]:
        """The results that the recommendation compares. Those of a matrix count all classes."""
        return self.multiclass.results if self.multiclass else self.methods

    @property
    def advised(self) -> MethodResult | None:
        """The results of the recommended calibrator, or None if none is recommended."""
        key = self.recommendation.method
        return None if key in ("", "uncalibrated") else self.methods.get(key)

    @property
    def after_sentence(self) -> str:
        """What the tests of the recommended calibrator's held-out scores find, or ""."""
        method = self.methods.get(self.recommendation.method)
        if self.after is None or method is None:
            return ""
        return self.after.after(method.short_label)

    def p_adjusted(self, method: str) -> dict[str, float]:
        """Holm-adjusted p-values of all tests of a method. One below 0.05 rejects calibration.

        For a matrix the tests of the view are adjusted together with those of the classes.
        """
        results = self.multiclass.results if self.multiclass else {}
        classes = results[method].class_p_values.tolist() if method in results else ()
        return adjusted(self.methods[method].all_tests, classes)

    @property
    def words(self) -> ViewWords:
        """Names of the scores and the outcomes."""
        return view_words(self.settings.view, answers=self.has_answers)

    @property
    def has_answers(self) -> bool:
        """Whether each row is an answer with one confidence, as `data.has_answers` says."""
        return self.multiclass is None and self.data.has_answers

    @property
    def uncalibrated(self) -> MethodResult:
        """Results of the uncalibrated scores."""
        return self.methods["uncalibrated"]

    def table(self) -> pd.DataFrame:
        """The metric table: one row per method; columns metric, metric_low, metric_high, ...

        Bounds and differences that do not exist have no column. For a matrix these are the metrics
        of one view, ``settings.view`` (default: "top:1", the top label). ``multiclass.frame()`` has
        the metrics of all classes.

        Returns
        -------
        DataFrame
            The index is the method key.
        """
        ranked = {key: self.methods[key] for key in self.ranked}
        return metric_table(ranked, (column.key for column in self.columns))


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False, kw_only=True)
class LiveAnalysis(Analysis):
    """An analysis with its scores and fitted calibrators.

    An analysis that was read from a report is an `Analysis`, which has neither.

    Attributes
    ----------
    held_out : CrossFitted
        The held-out scores and fitted calibrators.
    source : Predictions or Aggregate
        The data that were analysed.
    multiclass : LiveMulticlassComparison or None
        Results for the whole matrix, with held-out scores and fitted calibrators.
    """

    held_out: CrossFitted
    source: Data
    multiclass: LiveMulticlassComparison | None = None

    def _repr_html_(self) -> str | None:
        """The report as a page in a frame, for notebooks. None if there are too few rows."""
        # Reports import the analysis, so the analysis can import reports only in a function.
        try:
            shown: str = import_module("calib").report(self)._repr_html_()
        except ValueError:
            return None
        return shown

    def aggregates(self, **changes: Any) -> Analysis:
        """The same analysis without the scores of rows, and with some parts replaced."""
        parts = {field.name: getattr(self, field.name) for field in fields(Analysis)}
        parts["multiclass"] = self.multiclass and self.multiclass.aggregates()
        return Analysis(**parts | changes)
