"""Results that pages show besides the analysis, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from calib.analysis import Analysis, LiveAnalysis
from calib.analysis.centres import Centres, centres
from calib.analysis.decisions import (
    Costs,
    DecisionTable,
    ErrorLimit,
    decide,
    decide_before_and_after,
)
from calib.analysis.decisions.certificate import Sides
from calib.analysis.periods import (
    PeriodChange,
    Periods,
    PeriodTable,
    period_change,
    period_table,
)
from calib.analysis.periods.cutting import LastDays, timed_rows
from calib.analysis.plans import PlanChoice, choose_plan, with_plan
from calib.analysis.slices import (
    SliceCalibration,
    SlicedRows,
    SliceErrorRates,
    SliceGaps,
    SliceMix,
    SliceOverTime,
    SliceTests,
    Slicing,
    bin_rows,
    calibrate_slices,
    slice_error_rates,
    slice_gaps,
    slice_mix,
    slice_reliability,
    slice_tests,
    sliced_rows,
    slices_over_time,
)
from calib.analysis.summary import Held, Parts
from calib.analysis.verdict import Verdict, strongest
from calib.analysis.verdicts import verdict_after
from calib.blocks.slices import MAX_DRAWN, SlicedScores
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.matrix import MatrixFits
from calib.crossfit.settings import Strategy
from calib.curves.functions import Sensitivity, ece_sensitivity
from calib.curves.rate import RateCurve, RateKind, corp_curve, smooth_curve
from calib.curves.reliability import BinTests, ReliabilityCurve, bin_tests, reliability_curve
from calib.data.base import Data
from calib.data.cells import ScoreCells
from calib.data.views import BinaryView, parse_view, rows_by_code
from calib.figures.slice_rows import Scores
from calib.metrics import VariationalEstimate
from calib.metrics.by_class import Classwise
from calib.metrics.cumulative import ks_error
from calib.metrics.variational import variational_estimates
from calib.numerics.arrays import FloatArray, IntArray, over_cores
from calib.numerics.intervals import Estimate
from calib.ui.session.choices import (
    CAPACITY,
    CERTAINTY,
    COST_FN,
    COST_FP,
    MAX_ERROR,
    N_RANGES,
    SIDES,
    UNIT,
    Chosen,
)
from calib.ui.session.memo import KeyedCall
from calib.ui.session.session import Session
from calib.ui.session.state import Model, horizon, time_column
from calib.ui.session.turns import in_other_process
from calib.uncertainty import Errors, Replicates, replicate_cells, replicate_clusters
from calib.uncertainty.replicates import replicate, resample_rows

# The slices of one column of many rows take as long as the analysis.
MAX_CHECKED, MANY_CHECKED_ROWS = 4, 200_000
# A slice gets fewer bins than all rows if its bins would be smaller than this.
MIN_ROWS_PER_BIN = 50
MAX_SMALL_BINS = 10  # A small diagram has no room for more dots.
Table = TypeVar("Table", SliceGaps, SliceTests, PeriodTable)
T = TypeVar("T")


def sliced(session: Session, model: Model, columns: tuple[str, ...]) -> SlicedRows:
    rows, held_out, n_ranges = model.rows, model.analysis.held_out, session[N_RANGES]
    return session.memo(sliced_rows, rows, held_out, columns, n_ranges=n_ranges)


def row_views(
    session: Session, held_out: CrossFitted, methods: Sequence[str]
) -> dict[str, BinaryView]:
    """The rows with the held-out scores of each method."""
    return {m: session.memo(CrossFitted.row_view, held_out, m) for m in methods}


def gaps_of(session: Session, cut: SlicedRows, methods: Sequence[str]) -> dict[str, SliceGaps]:
    return _by_method(session.memo, slice_gaps, session, cut.held_out, cut.scored, methods)


def gap_of_all(held_out: CrossFitted, method: str, at: float) -> SliceGaps:
    """The gap of all rows together, as a table of one slice."""
    view = held_out.view(method)
    return slice_gaps(view, view.score, Slicing.whole(len(view)), confidence_level=at)


def slice_tests_of(
    session: Session, cut: SlicedRows, methods: Sequence[str]
) -> dict[str, SliceTests]:
    return _by_method(session.memo.heavy, slice_tests, session, cut.held_out, cut.scored, methods)


def centres_of(session: Session, cut: SlicedRows) -> Centres:
    """Each slice as a centre, with the uncalibrated scores."""
    (view,) = row_views(session, cut.held_out, ["uncalibrated"]).values()
    at = session.settings.confidence_level
    return session.memo.heavy(centres, view, cut.scored, confidence_level=at)


def _by_method(
    kept: Callable[..., T],
    function: Callable[..., T],
    session: Session,
    held_out: CrossFitted,
    groups: Slicing | Periods,
    methods: Sequence[str],
) -> dict[str, T]:
    """A table of slices or periods for the held-out scores of each method."""
    at = session.settings.confidence_level
    return {
        method: kept(function, view, view.score, groups, confidence_level=at)
        for method, view in row_views(session, held_out, methods).items()
    }


def sliced_scores(
    session: Session,
    model: Model,
    cut: SlicedRows,
    methods: tuple[str, ...],
    plan: PlanChoice | None,
    time: str,
) -> SlicedScores:
    """The slices before and after calibration; with a plan, of the rows since the change.

    `methods` are the uncalibrated scores and a calibrator. `time` is the column of the periods that
    are drawn, or "".
    """
    at, held_out, slicing = session.settings.confidence_level, cut.held_out, cut.scored
    labels = {key: model.analysis.methods[key].label for key in methods}
    if plan is not None:
        labels = {"before": labels["uncalibrated"], "after": plan.plan.words}
        gaps = _since(session, slice_gaps, held_out, slicing, plan)
        tests = _since(session, slice_tests, held_out, slicing, plan)
        whole = session.memo(Slicing.whole, len(slicing.codes))
        all_gaps = _since(session, slice_gaps, held_out, whole, plan)
        all_tests = _since(session, slice_tests, held_out, whole, plan)
    else:
        gaps, tests = gaps_of(session, cut, methods), slice_tests_of(session, cut, methods)
        all_gaps = {key: session.memo(gap_of_all, held_out, key, at) for key in methods}
        all_tests = {key: tests_of_all(model.analysis, key, at) for key in methods}
    of_all = {key: (all_gaps[key], all_tests[key]) for key in labels}
    first = next(iter(tests.values()))
    drawn = tuple(first.number[first.order[:MAX_DRAWN]].tolist())
    curves, errors = _small_curves(session, held_out, slicing, methods, plan, drawn)
    if plan is None:  # The analysis has drawn more resamples of all rows.
        errors |= {(key, None): model.analysis.methods[key].metrics["ks_error"] for key in methods}
    return SlicedScores(
        labels,
        gaps,
        tests,
        of_all,
        curves,
        errors,
        _over_time(session, model, cut, methods, plan, time),
    )


def tests_of_all(analysis: Analysis, method: str, at: float) -> SliceTests:
    """The tests of all rows, which are those of the analysis, as a table of one slice."""
    result = analysis.methods[method]
    slope = result.metrics["slope"]
    test, smallest = strongest(result.all_tests)
    p_value = np.array([smallest])
    return SliceTests(
        names=("All rows",),
        number=np.array([0]),
        rows=np.array([analysis.data.n_rows]),
        slope=np.array([slope.value]),
        slope_low=np.array([slope.low]),
        slope_high=np.array([slope.high]),
        ks=np.array([result.ks.statistic]),
        p_value=p_value,
        p_adjusted=p_value,
        confidence_level=at,
        test=(test,),
    )


@dataclass(frozen=True, slots=True, eq=False)
class CountedScores:
    """The cells of some scores, their clusters, and their KS error in resamples."""

    cells: ScoreCells
    clusters: Replicates | None
    ks: Errors

    @classmethod
    def of(cls, view: BinaryView) -> CountedScores:
        cells = view.cells().bounded()
        clusters = replicate_clusters(view, cells)
        return cls(cells, clusters, (clusters or replicate_cells(cells)).ks)

    def ks_error(self, at: float) -> Estimate:
        """The KS calibration error with its interval."""
        return self.ks.estimate(ks_error(self.cells), at)


def _scored(
    held_out: CrossFitted, methods: Sequence[str], plan: PlanChoice | None
) -> dict[str, tuple[BinaryView, FloatArray]]:
    """Rows and scores by the keys of `SlicedScores`; with a plan, of all rows."""
    if plan is None:
        views = {key: held_out.row_view(key) for key in methods}
        return {key: (view, view.score) for key, view in views.items()}
    rows = held_out.given_rows
    return {"before": (rows, rows.score), "after": (rows, plan.scores)}


def _small_curves(
    session: Session,
    held_out: CrossFitted,
    slicing: Slicing,
    methods: tuple[str, ...],
    plan: PlanChoice | None,
    drawn: tuple[int, ...],
) -> tuple[dict[tuple[str, int | None], ReliabilityCurve], dict[tuple[str, int | None], Estimate]]:
    """Curves and KS errors of the drawn slices and of all rows.

    Another number of bins counts no row again.
    """
    counted = (held_out, slicing, methods, plan, drawn)
    cells = session.memo.heavy(_cells_of_slices, *counted)
    chosen = session.settings
    how = (min(chosen.n_bins, MAX_SMALL_BINS), chosen.strategy, chosen.confidence_level)
    curves = session.memo(KeyedCall(_curves_of_cells, cells, *how), *counted, *how)
    return curves, {place: one.ks_error(chosen.confidence_level) for place, one in cells.items()}


def _cells_of_slices(
    held_out: CrossFitted,
    slicing: Slicing,
    methods: tuple[str, ...],
    plan: PlanChoice | None,
    drawn: tuple[int, ...],
) -> dict[tuple[str, int | None], CountedScores]:
    parts = dict[tuple[str, int | None], BinaryView]()
    for key, (rows, score) in _scored(held_out, methods, plan).items():
        scored, codes = rows.with_score(score), slicing.codes
        if plan is not None:
            scored, codes = scored.rows(plan.inside), codes[plan.inside]
        parts[key, None] = scored
        by_code = rows_by_code(scored, codes, len(slicing))
        parts |= {(key, number): by_code[number] for number in drawn}
    return over_cores(lambda place: CountedScores.of(parts[place]), parts)


def _curves_of_cells(
    counted: Mapping[tuple[str, int | None], CountedScores],
    n_bins: int,
    strategy: Strategy,
    at: float,
) -> dict[tuple[str, int | None], ReliabilityCurve]:
    return {
        place: reliability_curve(
            one.cells,
            n_bins=min(n_bins, max(2, one.cells.n_rows // MIN_ROWS_PER_BIN)),
            strategy=strategy,
            confidence_level=at,
            clusters=one.clusters,
        )
        for place, one in counted.items()
    }


def _over_time(
    session: Session,
    model: Model,
    cut: SlicedRows,
    methods: tuple[str, ...],
    plan: PlanChoice | None,
    time: str,
) -> Mapping[tuple[str, int | None], SliceOverTime]:
    """The periods of each slice. Counts of a column are not counts by period, so they have none."""
    if not time or not model.rows.has_rows:
        return {}
    try:
        held_out, periods = _timed(session, model, time)
    except ValueError:  # The part of the page about periods says why.
        return {}
    at = session.settings.confidence_level
    return session.memo.heavy(_by_period, held_out, cut.scored, periods, methods, plan, at)


def _by_period(
    held_out: CrossFitted,
    slicing: Slicing,
    periods: Periods,
    methods: tuple[str, ...],
    plan: PlanChoice | None,
    at: float,
) -> dict[tuple[str, int | None], SliceOverTime]:
    whole = Slicing.whole(len(slicing.codes))
    by_slice = dict[tuple[str, int | None], SliceOverTime]()
    for key, (rows, score) in _scored(held_out, methods, plan).items():
        of_slices = slices_over_time(rows, score, slicing, periods, confidence_level=at)
        by_slice |= {(key, number): one for number, one in of_slices.items()}
        by_slice[key, None] = slices_over_time(rows, score, whole, periods, confidence_level=at)[0]
    return by_slice


def error_rates(
    session: Session, cut: SlicedRows, table: DecisionTable, methods: Sequence[str]
) -> dict[str, tuple[SliceErrorRates, SliceErrorRates]]:
    at = session.settings.confidence_level
    return {
        m: session.memo(_error_rates, cut.held_out, m, view, cut.scored, table, at)
        for m, view in row_views(session, cut.held_out, methods).items()
    }


def _error_rates(
    held_out: CrossFitted,
    method: str,
    view: BinaryView,
    slicing: Slicing,
    table: DecisionTable,
    at: float,
) -> tuple[SliceErrorRates, SliceErrorRates]:
    counted, flagged = held_out.view(method), table.methods[method].flag(held_out.scores[method])
    whole = Slicing.whole(len(counted))
    return (
        slice_error_rates(view, held_out.row_values(flagged), slicing, confidence_level=at),
        slice_error_rates(counted, flagged, whole, confidence_level=at),
    )


def curves(
    session: Session, cut: SlicedRows, picked: Sequence[int]
) -> Mapping[str, ReliabilityCurve]:
    held_out, slicing, settings = cut.held_out, cut.scored, session.settings
    chosen = (settings.n_bins, settings.strategy, settings.confidence_level)
    return {slicing.names[n]: session.memo(_curve, held_out, slicing, n, *chosen) for n in picked}


def _curve(
    held_out: CrossFitted, slicing: Slicing, number: int, n_bins: int, strategy: Strategy, at: float
) -> ReliabilityCurve:
    view, member = held_out.row_view("uncalibrated"), slicing.member(number)
    return slice_reliability(
        view,
        view.score,
        member,
        n_bins=min(n_bins, max(2, int(view.counts[member].sum()) // MIN_ROWS_PER_BIN)),
        strategy=strategy,
        confidence_level=at,
    )


def slice_calibration(
    session: Session, cut: SlicedRows, number: int, method: str
) -> SliceCalibration:
    at = session.settings.confidence_level
    return session.memo.heavy(_slice_calibration, cut, number, method, at)


def _slice_calibration(cut: SlicedRows, number: int, method: str, at: float) -> SliceCalibration:
    member = cut.slicing.member(number)
    return calibrate_slices(cut.rows, member, cut.held_out, method, confidence_level=at)


def period_tables(
    session: Session, model: Model, column: str, methods: Sequence[str]
) -> dict[str, PeriodTable]:
    held_out, periods = _timed(session, model, column)
    return _by_method(session.memo.heavy, period_table, session, held_out, periods, methods)


def period_changes(
    session: Session, model: Model, column: str, methods: Sequence[str]
) -> dict[str, PeriodChange]:
    held_out, periods = _timed(session, model, column)
    views = row_views(session, held_out, methods)
    return {
        m: session.memo.heavy(period_change, view, view.score, periods) for m, view in views.items()
    }


def _timed(session: Session, model: Model, column: str) -> tuple[CrossFitted, Periods]:
    held_out, unit = model.analysis.held_out, session[UNIT]
    return session.memo(timed_rows, model.rows, held_out, column, unit or None)


def drawn_periods(session: Session, model: Model, time: str) -> Periods | None:
    """The periods that the rows of Slices show, if the data can be cut into some."""
    if not time or not model.rows.has_rows:
        return None
    try:
        return _timed(session, model, time)[1]
    except ValueError:  # The part of the page about periods says why.
        return None


def last_days(session: Session, model: Model) -> LastDays | None:
    """The days of the rows in the time column, if it has dates."""
    time = time_column(session, model.rows)
    if not time or not model.rows.holds_dates(time):
        return None
    view = session.settings.view
    return session.memo(_last_days, model.rows, time, view, horizon(session))


def _last_days(rows: Data, time: str, view: str, days: int) -> LastDays | None:
    return LastDays.of(rows.timed(time, view)[0], days)


def change_in(periods: Periods, plan: PlanChoice) -> tuple[int, bool]:
    """The first period since a change, and whether it also has rows before it."""
    first = int(periods.codes[plan.inside].min())
    return first, bool((periods.codes[~plan.inside] == first).any())


def parts(session: Session, model: Model, methods: Sequence[str]) -> Parts:
    """Where the scores hold, before and after what is recommended; see `Parts`.

    `methods` are the uncalibrated scores, and the recommended calibrator if there is one.
    """
    plan, time = model.plan, time_column(session, model.rows)
    before, after = list[Held](), list[Held]()

    def add(column: str, tables: Mapping[str, SliceTests | PeriodTable]) -> None:
        held = [Held.of(column, table) for table in tables.values()]
        before.append(held[0])
        after.extend(held[1:])

    names = [name for name in model.rows.columns if name != time]
    checked = names[: MAX_CHECKED if model.rows.n_rows <= MANY_CHECKED_ROWS else 1]
    for column in checked:
        cut = sliced(session, model, (column,))
        if plan is None:
            add(column, slice_tests_of(session, cut, methods))
        else:
            add(column, _since(session, slice_tests, cut.held_out, cut.scored, plan))
    unchecked = len(names) - len(checked)
    if time:
        try:
            held_out, periods = _timed(session, model, time)
        except ValueError:  # The column cannot be cut into periods; the page Slices says why.
            unchecked += 1
        else:
            if plan is None:
                add(time, period_tables(session, model, time, methods))
            else:
                add(time, _since(session, period_table, held_out, periods, plan))
    return Parts(tuple(before), tuple(after), plan, unchecked)


def _since(
    session: Session,
    test: Callable[..., Table],
    held_out: CrossFitted,
    groups: Slicing | Periods,
    plan: PlanChoice,
) -> dict[str, Table]:
    """Slices or periods of the rows since a change, before and after the plan."""
    at = session.settings.confidence_level
    return session.memo.heavy(_tested_since, test, held_out, groups, plan, at)


def _tested_since(
    test: Callable[..., Table],
    held_out: CrossFitted,
    groups: Slicing | Periods,
    plan: PlanChoice,
    at: float,
) -> dict[str, Table]:
    rows, inside = held_out.given_rows.rows(plan.inside), groups.rows(plan.inside)
    return {
        name: test(rows, score[plan.inside], inside, confidence_level=at)
        for name, score in (("before", held_out.given_rows.score), ("after", plan.scores))
    }


def tests_without_plan(
    session: Session, model: Model, cut: SlicedRows, plan: PlanChoice
) -> SliceTests | None:
    """Slices of another column since a change, without the rows of the slice of the plan.

    That slice is a part of each of them, so all of them can be wrong because of it.
    """
    column, value = plan.plan.column, plan.plan.value
    if not column or column in cut.slicing.columns:
        return None
    of_plan = sliced(session, model, (column,)).scored
    if value not in of_plan.names:  # The column is cut in other ranges than those of the plan.
        return None
    at = session.settings.confidence_level
    return session.memo.heavy(_tests_without, cut.held_out, cut.scored, of_plan, plan, at)


def _tests_without(
    held_out: CrossFitted, slicing: Slicing, of_plan: Slicing, plan: PlanChoice, at: float
) -> SliceTests:
    rest = plan.inside & (of_plan.codes != of_plan.names.index(plan.plan.value))
    rows = held_out.given_rows.rows(rest)
    return slice_tests(rows, rows.score, slicing.rows(rest), confidence_level=at)


def with_plan_of(session: Session, model: Model) -> Model:
    """The model with the plan for scores that changed, if they did.

    What a matrix recommends stands for all its views, whose scores have no plan of their own.
    """
    time, analysis = time_column(session, model.rows), model.analysis
    if session.is_matrix or not time:
        return model
    # Other bins have the same held-out scores, so they keep the plan.
    made = KeyedCall(choose_plan, model.rows, analysis, time)
    method, level = analysis.recommendation.method, analysis.settings.confidence_level
    plan = session.memo.heavy(made, model.rows, analysis.held_out, time, method, level)
    if plan is None:
        return model
    return replace(model, analysis=session.memo(with_plan, analysis, plan), plan=plan)


def costs(chosen: Chosen) -> Costs:
    return Costs(chosen[COST_FP], chosen[COST_FN], chosen[CAPACITY])


def decisions(session: Session, analysis: LiveAnalysis) -> DecisionTable:
    chosen, at = costs(session.chosen), session.settings.confidence_level
    return session.memo.heavy(decide, analysis.held_out, chosen, confidence_level=at)


def decisions_after(session: Session, model: Model) -> tuple[DecisionTable | None, str]:
    """Decisions before and after what is recommended, and its key; None if nothing is."""
    plan, analysis = model.plan, model.analysis
    if plan is not None and plan.calibrator is not None:
        chosen, at = costs(session.chosen), session.settings.confidence_level
        return session.memo.heavy(_decided_since, analysis.held_out, plan, chosen, at), "after"
    if analysis.advised is None:
        return None, ""
    return decisions(session, analysis), analysis.advised.key


def _decided_since(
    held_out: CrossFitted, plan: PlanChoice, chosen: Costs, at: float
) -> DecisionTable:
    rows, after = held_out.given_rows.rows(plan.inside), plan.scores[plan.inside]
    return decide_before_and_after(rows, after, chosen, confidence_level=at)


def error_limit(session: Session, model: Model) -> ErrorLimit:
    """What is certified. Without a choice the data decide which sides."""
    # A confidence says that an answer is right; a low one does not say that it is wrong.
    answers = parse_view(session.settings.view)[0] != "class" or model.analysis.data.has_answers
    sides: Sides = session[SIDES] or ("above" if answers else "both")
    return ErrorLimit(session[MAX_ERROR], session[CERTAINTY], sides)


def range_curve(
    held_out: CrossFitted, method: str, ends: tuple[float, ...], level: float
) -> ReliabilityCurve:
    """A reliability curve of three bins: a range of scores, and the scores on both sides."""
    return reliability_curve(
        held_out.cells[method],
        edges=np.unique([0.0, *ends, 1.0]),
        confidence_level=level,
        clusters=held_out.clusters(method),
    )


def verdict(session: Session, analysis: LiveAnalysis, method: str) -> Verdict:
    """The verdict of the held-out scores of a method."""
    if method == "uncalibrated":
        return analysis.verdict
    if analysis.after is not None and method == analysis.recommendation.method:
        return analysis.after
    # Its inputs without the bins are those of the verdict: another number of bins keeps it.
    made = KeyedCall(_verdict, analysis, method)
    view, answers = analysis.settings.view, analysis.has_answers
    return session.memo(made, analysis.held_out, method, view, answers)


def _verdict(analysis: LiveAnalysis, method: str) -> Verdict:
    compared = analysis.multiclass
    after = verdict_after(
        analysis.held_out,
        analysis.methods,
        analysis.settings,
        method,
        compared,
        answers=analysis.has_answers,
    )
    assert after is not None  # The method is one of the analysis, and calibrated.
    return after


def bins_tested(session: Session, analysis: LiveAnalysis, method: str) -> BinTests:
    """The table of a method's bins, and of all rows."""
    held_out, curve = analysis.held_out, analysis.methods[method].reliability
    return session.memo(bin_tests, held_out.cells[method], curve, held_out.clusters(method))


def variational(session: Session, analysis: LiveAnalysis) -> Mapping[str, VariationalEstimate]:
    """The calibration error of each method without bias, with its two parts."""
    return session.memo.heavy(_variational, analysis.held_out, session.settings.confidence_level)


def _variational(held_out: CrossFitted, at: float) -> Mapping[str, VariationalEstimate]:
    views = [held_out.view(key) for key in held_out.scores]
    estimates = in_other_process(
        variational_estimates, views, n_rows=len(held_out.rows), confidence_level=at
    )
    return dict(zip(held_out.scores, estimates, strict=True))


def rows_of_bin(
    held_out: CrossFitted, method: str, curve: ReliabilityCurve, position: int
) -> IntArray:
    return bin_rows(curve, position, held_out.row_scores(method))


def mix_of_bin(
    held_out: CrossFitted,
    method: str,
    curve: ReliabilityCurve,
    position: int,
    slicing: Slicing,
    level: float,
) -> SliceMix:
    view = held_out.given_rows
    inside = np.zeros(len(view), dtype=np.bool_)
    inside[rows_of_bin(held_out, method, curve, position)] = True
    return slice_mix(slicing, inside, view.weight, view.group, confidence_level=level)


def rate_curves(
    session: Session, analysis: LiveAnalysis, method: str, kinds: Sequence[RateKind]
) -> tuple[RateCurve, ...]:
    held_out, settings = analysis.held_out, analysis.settings
    cells, clusters = held_out.cells[method], held_out.clusters(method)
    chosen: dict[str, Any] = {"confidence_level": settings.confidence_level, "clusters": clusters}
    return tuple(
        session.memo.heavy(smooth_curve, cells, **chosen)
        if kind == "smooth"
        else session.memo.heavy(corp_curve, cells, random_state=settings.seed, **chosen)
        for kind in kinds
    )


def sensitivities(session: Session, model: Model) -> tuple[Sensitivity, ...]:
    """The sensitivity to the bins before and after what is recommended."""
    plan, analysis = model.plan, model.analysis
    if plan is not None and plan.calibrator is not None:
        at = session.settings.confidence_level
        return session.memo.heavy(_sensitivities_since, analysis.held_out, plan, at)
    keys = ["uncalibrated", *([] if analysis.advised is None else [analysis.advised.key])]
    return tuple(sensitivity(session, analysis, key) for key in keys)


def _sensitivities_since(
    held_out: CrossFitted, plan: PlanChoice, at: float
) -> tuple[Sensitivity, ...]:
    rows = held_out.given_rows.rows(plan.inside)

    def of(score: FloatArray) -> Sensitivity:
        view = replace(rows, score=score)
        cells = view.cells()
        drawn = replicate(resample_rows(view, cells), score)
        return ece_sensitivity(cells, drawn, confidence_level=at)

    return of(rows.score), of(plan.scores[plan.inside])


def sensitivity(session: Session, analysis: LiveAnalysis, method: str) -> Sensitivity:
    """Whether the ECE of a method finds miscalibration, by the number of bins."""
    at = session.settings.confidence_level
    return session.memo.heavy(_sensitivity, analysis.held_out, method, at)


def _sensitivity(held_out: CrossFitted, method: str, level: float) -> Sensitivity:
    cells, replicates = held_out.cells[method], held_out.replicates[method]
    n_rows = len(held_out.rows)
    return in_other_process(
        ece_sensitivity, cells, replicates, n_rows=n_rows, confidence_level=level
    )


def class_scores(
    session: Session, held_out: MatrixFits, method: str, table: Classwise, classes: tuple[int, ...]
) -> list[Scores]:
    """What the rows of these classes show of the scores of a method."""
    chosen = session.settings
    counted = (held_out, method, classes, chosen.confidence_level)
    cells = session.memo.heavy(_counted_classes, *counted)
    how = (min(chosen.n_bins, MAX_SMALL_BINS), chosen.strategy, chosen.confidence_level)
    parts: dict[tuple[str, int | None], CountedScores] = {
        ("", k): one for k, (one, _) in cells.items()
    }
    curves = session.memo(KeyedCall(_curves_of_cells, parts, *how), *counted, *how)
    place = {int(k): i for i, k in enumerate(table.index)}
    return [
        Scores(
            cells[k][1],
            float(table.base_rate[place[k]]),
            float(table.mean_score[place[k]]),
            cells[k][0].ks_error(chosen.confidence_level),
            float(table.p_adjusted[place[k]]),
            "ks",
            curves["", k],
        )
        for k in classes
    ]


def _counted_classes(
    held_out: MatrixFits, method: str, classes: tuple[int, ...], at: float
) -> dict[int, tuple[CountedScores, Estimate]]:
    """The score of each class, and its observed minus predicted frequency."""
    matrix, rows = held_out.matrix(method), held_out.scored
    whole, counted = Slicing.whole(len(rows.label)), dict[int, tuple[CountedScores, Estimate]]()
    for k in classes:
        view = BinaryView(rows.label == k, matrix[:, k], rows.weight, None, rows.group)
        gaps = slice_gaps(view, view.score, whole, confidence_level=at)
        gap = Estimate(*(float(end[0]) for end in (gaps.gap, gaps.low, gaps.high)))
        counted[k] = CountedScores.of(view), gap
    return counted


def classwise(table: Classwise, analysis: Analysis, method: str) -> Classwise:
    """The table with the p-values of the verdict, adjusted together with the tests of the view."""
    p_adjusted = analysis.p_adjusted(method)
    return replace(table, p_adjusted=np.array([p_adjusted[f"class:{k}"] for k in table.index]))
