"""What an analysis holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any

import pandas as pd

from calib.analysis.recommendation import Recommendation
from calib.analysis.verdict import Verdict, adjusted
from calib.core.aggregate import Aggregate
from calib.core.estimate import Estimate
from calib.core.origin import Origin
from calib.core.predictions import Predictions
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.matrix_comparison import LiveMulticlassComparison, MulticlassComparison
from calib.crossfit.settings import Settings
from calib.curves.cumulative import CumulativeCurve
from calib.curves.functions import (
    CalibrationFunction,
    CompactLogitCurve,
)
from calib.curves.reliability import ReliabilityCurve
from calib.metrics import (
    TestResult,
)
from calib.metrics.base import Better
from calib.numerics.arrays import FloatArray
from calib.text import number, percent, plural

# A double has no more.
MAX_DIGITS = 17


# What a person sees of an analysis at a prompt.
MAIN = ("log_loss", "brier_score", "ece_quantile", "ks_error", "slope", "auc")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the metric table: its key, its heading, its meaning and its digits.

    `better` says which values are good: "lower", "higher", "one" (the nearer to 1), or "none";
    `convention` which choice was made where the field has several.
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
    """What the data are, in numbers.

    Attributes
    ----------
    name, fingerprint, score_name, outcome_name, positive_name : str
    n_rows, n_calibration : int
        Rows that are scored, and rows that the drawn calibrators were fitted on.
    n_positive : int
        Positive rows among those that are scored.
    base_rate, mean_score : float
        Weighted observed frequency, and weighted mean score.
    n_distinct : int
        Distinct scores.
    protocol : {"test rows", "folds"}
    weighted : bool
    set_aside : mapping of str to int
        Reason -> rows of the file that were left out.
    origin : Origin or None
        How the file was read; None where the rows were arrays.
    named_folds : int
        Folds that the data name and that the methods are cross-fitted in; 0 where they are drawn.
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
    origin: Origin | None = None
    named_folds: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class MethodResult:
    """All results of one method, on held-out rows.

    Attributes
    ----------
    key, label : str
    metrics : mapping of str to Estimate
        By column key: log_loss, brier_score, ece_uniform, ece_quantile, mce, ks_error, slope, auc,
        distinct.
    differences : mapping of str to Estimate
        log_loss, brier_score and auc minus those of the uncalibrated scores, paired by row.
    reliability : ReliabilityCurve
    histogram : ndarray of shape (50,)
        Weight of the scores in 50 equal intervals of [0, 1].
    cumulative : CumulativeCurve
    ks : TestResult
        KS test of the held-out scores, by cluster where groups are named.
    function : CalibrationFunction
        The calibrator fitted on all calibration rows; no curve where whole rows of a matrix are
        mapped.
    tests : mapping of str to TestResult
        Other tests of the held-out scores: kuiper, spiegelhalter, hosmer_lemeshow, and line, the
        likelihood-ratio test of slope 1 and intercept 0; by cluster where groups are named.
    """

    key: str
    label: str
    metrics: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    reliability: ReliabilityCurve
    histogram: FloatArray
    cumulative: CumulativeCurve
    ks: TestResult
    function: CalibrationFunction
    tests: Mapping[str, TestResult] = field(default_factory=dict)

    @property
    def all_tests(self) -> dict[str, TestResult]:
        """The KS test and the others, by key: those that are judged together."""
        return {"ks": self.ks, **self.tests}

    @property
    def p_adjusted(self) -> dict[str, float]:
        """Their p-values after Holm's correction: below 0.05 where a test rejects."""
        return adjusted(self.all_tests)


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """Everything that figures and reports show of one set of predictions under one set of settings.

    Attributes
    ----------
    settings : Settings
        With the view that was taken, also where none was chosen.
    data : DataSummary
    columns : tuple of Column
        Columns of the metric table, in order.
    methods : mapping of str to MethodResult
        By key, "uncalibrated" first; of a matrix, in the view of the settings.
    fitted_reliability : ReliabilityCurve
        The uncalibrated scores of the rows that the calibrators were fitted on.
    compact_logit : CompactLogitCurve
    verdict : Verdict
    recommendation : Recommendation
    warnings : tuple of str
    multiclass : MulticlassComparison or None
        The whole matrix, whatever the view; None where there is one score per row.
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

    def __repr__(self) -> str:
        """One screen: verdict, recommendation, the methods' main metrics, and what the data are."""
        data, shown = self.data, [column for column in self.columns if column.key in MAIN]
        metrics = {
            f"{method.label} *" if key == self.recommendation.method else method.label: {
                column.label: number(method.metrics[column.key].value, column.digits)
                for column in shown
            }
            for key, method in self.methods.items()
        }
        return "\n".join(
            [
                self.verdict.sentence,
                self.recommendation.sentence,
                "",
                pd.DataFrame.from_dict(metrics, orient="index").to_string(max_colwidth=24),
                "",
                f"Data: {data.name}, {plural(data.n_rows, 'row')}, {percent(data.base_rate)} "
                f"positive; scored on {data.protocol}; {plural(len(self.warnings), 'warning')}.",
            ]
        )

    @property
    def uncalibrated(self) -> MethodResult:
        """Result of the uncalibrated scores."""
        return self.methods["uncalibrated"]

    def table(self) -> pd.DataFrame:
        """One row per method; columns metric, and metric_low / metric_high / metric_diff ...

        Columns without an interval or a difference are left out. Of a matrix these are the metrics
        of one view, ``settings.view`` ("top:1", the top label, where none was chosen);
        ``multiclass.frame()`` has those of all classes.
        """
        rows = {}
        for key, method in self.methods.items():
            row: dict[str, object] = {"method": method.label}
            for column in self.columns:
                name = column.key
                row |= method.metrics[name].columns(name)
                if name in method.differences:
                    row |= method.differences[name].columns(f"{name}_diff")
            rows[key] = row
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("key")


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False, kw_only=True)
class LiveAnalysis(Analysis):
    """An analysis with the scores that it was made of; one that was read from a report has none.

    Attributes
    ----------
    held_out : CrossFitted
        The held-out scores and fitted calibrators.
    source : Predictions or Aggregate
        What was analysed.
    multiclass : LiveMulticlassComparison or None
        The same of the whole matrix.
    """

    held_out: CrossFitted
    source: Predictions | Aggregate
    multiclass: LiveMulticlassComparison | None = None

    def _repr_html_(self) -> str | None:
        """In a notebook: the report, as a page in a frame; None where there are too few rows."""
        # Reports know the analysis, which must not know them: they are found by their name.
        try:
            shown: str = import_module("calib").report(self)._repr_html_()
        except ValueError:
            return None
        return shown

    def aggregates(self, **changes: Any) -> Analysis:
        """The same without scores of rows, and with some parts exchanged."""
        parts = {each.name: getattr(self, each.name) for each in fields(Analysis)}
        parts["multiclass"] = self.multiclass and self.multiclass.aggregates()
        return Analysis(**parts | changes)
