"""The summary of an analysis: its limits, its parts by slices and time, and its warnings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.analysis.analysis import Analysis, Column, DataSummary
from calib.analysis.periods import PeriodTable
from calib.analysis.plans import PlanChoice
from calib.analysis.slices import SliceTests
from calib.analysis.verdict import SIGNIFICANCE
from calib.calibrators import CALIBRATORS, Calibrator
from calib.calibrators.inverse import largest_fall
from calib.crossfit.cross_fitted import LOSSES, CrossFitted
from calib.crossfit.folds import n_positive
from calib.crossfit.settings import Settings
from calib.data.base import Data
from calib.data.cells import REVERSED, ScoreCells
from calib.data.origin import Remark
from calib.data.views import parse_view
from calib.metrics import METRICS, certain_and_wrong
from calib.metrics.proper import log_loss_range
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import Estimate
from calib.numerics.score_grid import middles, written
from calib.text import decimals, joined, level, number, percent, plural, rounded, significant


@dataclass(frozen=True, slots=True)
class TableMetric:
    """A column of the table that shows a metric.

    In the texts, {n} and {strategy} are replaced by the number of bins and the strategy.

    Attributes
    ----------
    key : str
        Key of the metric.
    detail : str
        Text after the name of the metric.
    label, meaning : str
        Texts in place of the name and the meaning of the metric.
    """

    key: str
    detail: str = ""
    label: str = ""
    meaning: str = ""


TABLE = {
    "log_loss": TableMetric("log_loss"),
    "brier_score": TableMetric("brier_score"),
    "ece_uniform": TableMetric("expected_calibration_error", ", {n} uniform bins"),
    "ece_quantile": TableMetric("expected_calibration_error", ", {n} quantile bins"),
    "mce": TableMetric(
        "expected_calibration_error",
        label="MCE, {n} {strategy} bins",
        meaning="Largest gap between observed frequency and mean score in {n} {strategy} bins.",
    ),
    "ks_error": TableMetric("ks_error"),
    "slope": TableMetric("calibration_slope_intercept"),
    "auc": TableMetric("auc"),
    "distinct": TableMetric("distinct_scores"),
}


def table_metric(column: str) -> TableMetric:
    """The column for a key: one of `TABLE`, or a metric that the settings add."""
    return TABLE.get(column) or TableMetric(column)


def is_error(column: str) -> bool:
    """Whether a column is a calibration error, which has an upward bias from noise.

    The answer is False if no metric is registered for the column, for example because it was
    added by a package that is not installed.
    """
    key = table_metric(column).key
    return key in METRICS and METRICS[key].interval == "error"


def added_metrics(settings: Settings) -> tuple[str, ...]:
    """Metrics that the settings add to those of every table."""
    shown = {metric.key for metric in TABLE.values()}
    return tuple(key for key in settings.metrics if key not in shown)


# With fewer clusters, resamples of clusters do not show well how clusters vary.
MIN_CLUSTERS = 40
GROUPED = "grouped"  # Code of the warning about cells with several scores.
# Headings of columns show at most this many characters of the name of a class.
MAX_NAME_LENGTH = 24


def table_columns(settings: Settings, of_matrix: str = "") -> tuple[Column, ...]:
    """Columns of the metric table, in order: those of `TABLE`, then what the settings add.

    `of_matrix` describes the positive rows in the view of a matrix; it is "" for one score per row.
    """
    words = {"n": settings.n_bins, "strategy": settings.strategy}

    def column(key: str, shown: TableMetric) -> Column:
        entry = METRICS[shown.key]
        label = (shown.label or entry.label + shown.detail).format(**words)
        if of_matrix and key in LOSSES:
            label = _loss_of_view(label, settings.view, of_matrix)
        meaning = (shown.meaning or entry.meaning).format(**words)
        return Column(key, label, meaning, entry.digits, entry.better, entry.convention)

    return tuple(column(key, table_metric(key)) for key in (*TABLE, *added_metrics(settings)))


def _loss_of_view(label: str, view: str, positive_name: str) -> str:
    """For example "Top-label log loss"."""
    kind, rank = parse_view(view)
    if kind == "class":
        name = " ".join(positive_name.split())
        short = name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 1]}…"
        return f"{label}, class {short}"
    place = "label" if rank == 1 else str(rank)
    first = f"Top-{place}" if kind == "top" else f"Within-top-{rank}"
    return f"{first} {label.replace('Log', 'log')}"


def names_of(predictions: Data) -> dict[str, Any]:
    """Names of the data, and how they were read. No number depends on them."""
    return {
        "name": predictions.name,
        "score_name": predictions.score_name,
        "outcome_name": predictions.outcome_name,
        "set_aside": dict(predictions.set_aside),
        "origin": predictions.origin and predictions.origin.stated(),
    }


def summarize(predictions: Data, view: str, held_out: CrossFitted) -> DataSummary:
    scored = held_out.cells["uncalibrated"]
    return DataSummary(
        **names_of(predictions),
        fingerprint=predictions.fingerprint,
        positive_name=predictions.view_label(view),
        n_rows=held_out.rows.n_rows,
        n_calibration=held_out.fitted_on.n_rows,
        n_positive=n_positive(held_out.rows),
        base_rate=scored.base_rate,
        mean_score=scored.mean_score,
        n_distinct=len(scored),
        protocol=held_out.protocol,
        weighted=held_out.rows.weight is not None,
        named_folds=len(predictions.fold_names),
    )


def warnings_of(predictions: Data, held_out: CrossFitted, method: str) -> tuple[str, ...]:
    """Limitations of the data or the results, one sentence each.

    `method` is the recommended calibrator, or "" if there is none of one score per row.
    """
    scored = held_out.cells["uncalibrated"]
    sentences = [*predictions.remarks, *held_out.failures.values()]
    if held_out.rows.group is not None:
        n = len(np.unique(held_out.rows.group))
        few = f" {n:,} clusters are few, so these results are approximate."
        sentences.append(
            f"Rows come in {n:,} clusters: tests, intervals, error bars and bands account for "
            f"this.{few if n < MIN_CLUSTERS else ''}"
        )
    # The remarks of a scan already say this, with the name of the column.
    is_stated = any(one.code in ("swapped", "which-class") for one in predictions.remarks)
    if scored.is_reversed and not (predictions.is_matrix or is_stated):
        sentence = (
            f"{REVERSED} (AUC {number(scored.auc, 3)}): the scores may be probabilities of the "
            "negative class."
        )
        sentences.append(Remark(sentence, "swapped"))
    sentences += _digits(scored)
    if bounds := held_out.resolution.get("uncalibrated"):
        sentences.append(Remark(grouped_scores(len(scored), bounds), GROUPED))
    if len(scored) < 20:
        sentences.append(
            f"Only {len(scored)} distinct score{'' if len(scored) == 1 else 's'}: curves cannot "
            "have more points than that."
        )
    fitted = held_out.calibrators.get(method)
    if isinstance(fitted, Calibrator) and (fall := largest_fall(fitted)):
        sentences.append(
            f"{CALIBRATORS[method].short_label} {fall.words}: rows with higher scores get lower "
            "probabilities there."
        )
    return tuple(sentences)


def grouped_scores(n_cells: int, bounds: Mapping[str, float]) -> str:
    """Say that cells hold several scores, and how far that changes each metric."""
    loss, ks, area = (significant(bounds[name], 1) for name in ("log_loss", "ks_error", "auc"))
    return (
        f"Scores are grouped into {n_cells:,} cells. For the uncalibrated scores, this changes log "
        f"loss by at most {loss}, KS by {ks} and AUC by {area}."
    )


def _digits(scored: ScoreCells) -> Iterator[str]:
    """What the step of the scores means, and the log loss if it is not one number."""
    low, high = scored.ranges
    certain = (low == 0.0) | (high == 1.0)
    if scored.named_step:
        step, half = written(scored.step), written(scored.step / 2.0)
        yield (
            f"The scores have steps of {step}, so each stands for every value within {half} of it. "
            "A test rejects only if it would for all of these values."
        )
    if scored.step and certain.any():
        share = percent(float(scored.weight[certain].sum()) / scored.total_weight)
        zero, one = map(written, middles(np.array([0.0, 1.0]), scored.step).tolist())
        yield (
            f"{share} of the rows have a score of 0 or 1 at this precision. Calibrators and "
            f"metrics read 0 as {zero} and 1 as {one}, the middle of what these stand for."
        )
    wrong = [*_certain_and_wrong(scored, low, high)]
    least, most = log_loss_range(scored)
    if wrong:
        yield f"{joined(wrong)}, so the log loss is at least {number(least, 3)}."
    elif scored.named_step:
        digits = decimals(Estimate(least, least, most), most=6)
        yield f"The log loss is between {number(least, digits)} and {number(most, digits)}."


def _certain_and_wrong(scored: ScoreCells, low: FloatArray, high: FloatArray) -> Iterator[str]:
    """Which rows have a score of 0 or 1 that was wrong."""
    ends = ((low == 0.0, 0, "positive"), (high == 1.0, 1, "negative"))
    for chosen, score, outcome in ends:
        cells = scored.pick(np.flatnonzero(chosen), np.full(int(chosen.sum()), float(score)))
        n = int(certain_and_wrong(cells)) if len(cells) else 0
        if n:
            verbs = ("has", "was") if n == 1 else ("have", "were")
            yield f"{plural(n, 'row')} {verbs[0]} score {score} but {verbs[1]} {outcome}"


@dataclass(frozen=True, slots=True)
class Held:
    """In how many slices of a column, or periods, scores are miscalibrated.

    Attributes
    ----------
    column : str
    unit : str
        "slice", or the unit of the periods.
    wrong, tested : int
        Slices with evidence of miscalibration, and slices with enough rows to be tested.
    """

    column: str
    unit: str
    wrong: int
    tested: int

    @classmethod
    def of(cls, column: str, table: SliceTests | PeriodTable) -> Held:
        """Count the slices or the periods of a table, as the page Slices does."""
        unit = table.unit if isinstance(table, PeriodTable) else "slice"
        wrong = int(table.significant(SIGNIFICANCE).sum())
        return cls(column, unit, wrong, int((~table.few).sum()))

    @property
    def share(self) -> float:
        """The share of what is tested that is wrong."""
        return self.wrong / self.tested if self.tested else 0.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What holds before and after what is recommended; after a change, of the rows since then.

    Attributes
    ----------
    before, after : sequence of Held
        Of the uncalibrated scores, and of held-out scores of what is recommended, in the same
        order. `after` is empty if nothing is recommended.
    plan : PlanChoice or None
        The plan for scores that changed on a day.
    unchecked : int
        Number of other columns, whose slices or periods were not tested.
    others : sequence of str
        The names of other checks that fail after what is recommended: of bins, or of decisions.
    """

    before: Sequence[Held] = ()
    after: Sequence[Held] = ()
    plan: PlanChoice | None = None
    unchecked: int = 0
    others: Sequence[str] = ()

    @property
    def wrong(self) -> tuple[Held, ...]:
        """The columns in which the uncalibrated scores do not hold."""
        return tuple(held for held in self.before if held.wrong)

    @property
    def failing(self) -> tuple[Held, ...]:
        """The columns in which what is recommended does not hold."""
        return tuple(held for held in self.after if held.wrong)


@dataclass(frozen=True, slots=True)
class Limit:
    argument: str  # Its name in a report, and its option on the command line.
    meaning: str
    # Key of the metric's column. The p-value has no column.
    column: Callable[[Analysis], str] | None = None
    # A bound above the largest possible value would always be met, or never.
    largest: float = 1.0

    @property
    def allowed(self) -> str:
        """The bounds that make sense, in words."""
        return f"at least 0{f' and at most {self.largest:g}' if self.largest < math.inf else ''}"

    def allows(self, bound: float) -> bool:
        """Whether the bound is neither always met nor never."""
        return 0.0 <= bound <= self.largest and bound < math.inf

    def finding(
        self, analysis: Analysis, method: str, bound: float, *, strict_point: bool = False
    ) -> Finding:
        """Whether a method meets the bound: its interval, or its value if `strict_point`."""
        result = analysis.methods[method]
        if self.column is None:
            return Finding("p of the KS test", result.ks.p_value, bound, at_most=False)
        key = self.column(analysis)
        label = next(column.label for column in analysis.columns if column.key == key)
        estimate, confidence_level = result.metrics[key], analysis.settings.confidence_level
        if strict_point:
            floor = estimate.noise_floor
            return Finding(label, estimate.value, bound, at_most=True, noise_floor=floor)
        return Finding.of_interval(label, estimate, bound, confidence_level)


LIMITS = (
    Limit("max_ks", "maximum KS error", lambda _: "ks_error"),
    Limit(
        "max_ece",
        "maximum expected calibration error, with the bins of the settings",
        lambda analysis: f"ece_{analysis.settings.strategy}",
    ),
    Limit("max_log_loss", "maximum log loss of the view", lambda _: "log_loss", math.inf),
    Limit("min_p", "minimum p-value of the KS test alone"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A limit and the value found. A calibration error also has the value of a calibrated model.

    If `low` and `high`, the bounds of the interval of the value, are not NaN, a maximum is exceeded
    only if `low` is above it. Otherwise the value itself decides.
    """

    label: str
    value: float
    bound: float
    at_most: bool
    noise_floor: float = math.nan
    low: float = math.nan
    high: float = math.nan
    confidence_level: float = 0.95

    @classmethod
    def of_interval(
        cls, label: str, estimate: Estimate, bound: float, confidence_level: float
    ) -> Finding:
        """A maximum that is exceeded if the whole interval lies above it."""
        ends = (estimate.noise_floor, estimate.low, estimate.high)
        return cls(label, estimate.value, bound, True, *ends, confidence_level)

    @property
    def is_met(self) -> bool:
        """Whether the value is within the bound, or not significantly above it. NaN is not."""
        if not self.at_most:
            return self.value >= self.bound
        return self.value <= self.bound or self.low <= self.bound

    @property
    def kind(self) -> str:
        """JUnit's name of the result."""
        return "system-out" if self.is_met else "failure"

    @property
    def rule(self) -> str:
        return f"{self.label} at {'most' if self.at_most else 'least'} {significant(self.bound, 6)}"

    @property
    def sentence(self) -> str:
        """The finding in words.

        >>> Finding("KS error", 0.0412345678, 0.02, at_most=True).sentence
        'KS error 0.0412346 is above 0.02'
        >>> Finding("KS error", 0.041, 0.02, at_most=True, low=0.012, high=0.07).sentence
        'KS error 0.041 (95% CI 0.012 to 0.07) is above 0.02, but not significantly'
        >>> Finding("KS error", 0.041, 0.02, at_most=True, low=0.031, high=0.051).sentence
        'KS error 0.041 (95% CI 0.031 to 0.051) is significantly above 0.02'
        >>> Finding("KS error", 0.041, 0.02, at_most=True, noise_floor=0.0352).sentence[30:]
        'a calibrated model with this many rows shows 0.0352 on average'
        >>> Finding("kappa", math.nan, 0.4, at_most=False).sentence
        'kappa has no value, and must be at least 0.4'
        """
        if math.isnan(self.value):
            at = f"at {'most' if self.at_most else 'least'} {significant(self.bound, 6)}"
            return f"{self.label} has no value, and must be {at}"
        sentence = f"{self.label} {self._shown(self.value, 6)}"
        has_interval = not math.isnan(self.low)
        if has_interval:
            ends = f"{self._shown(self.low, 3)} to {self._shown(self.high, 3)}"
            sentence += f" ({level(self.confidence_level)} CI {ends})"
        sentence += f" is {self._relation(has_interval)}"
        if self.is_met or math.isnan(self.noise_floor):
            return sentence
        floor = significant(self.noise_floor)
        return f"{sentence}; a calibrated model with this many rows shows {floor} on average"

    def _relation(self, has_interval: bool) -> str:
        bound = significant(self.bound, 6)
        if not self.at_most:
            return f"{'at least' if self.is_met else 'below'} {bound}"
        if self.value <= self.bound:
            return f"at most {bound}"
        if self.is_met:
            return f"above {bound}, but not significantly"
        return f"{'significantly ' if has_interval else ''}above {bound}"

    def _shown(self, value: float, digits: int) -> str:
        """A number in these digits, or in full if rounding moves it across the bound."""
        short = rounded(value, digits)
        sides = [(v <= self.bound) if self.at_most else (v >= self.bound) for v in (short, value)]
        return significant(value, digits) if sides[0] == sides[1] else repr(value)


def shown_methods(analysis: Analysis) -> tuple[str, ...]:
    """Keys of before and after: "after" is the recommended method, else the best, if any."""
    advice = analysis.recommendation
    # A plan for some rows is compared with its own method, fitted on all rows.
    chosen = advice.plan.method if advice.plan else advice.method
    if chosen != "uncalibrated" and chosen in analysis.methods:
        return ("uncalibrated", chosen)
    best = best_calibrator(analysis)
    return ("uncalibrated", best) if best else ("uncalibrated",)


def best_calibrator(analysis: Analysis) -> str | None:
    """The calibrator with the lowest log loss."""
    others = [key for key in analysis.methods if key != "uncalibrated"]
    losses = {key: analysis.methods[key].metrics["log_loss"].value for key in others}
    return min(others, key=losses.__getitem__, default=None)
