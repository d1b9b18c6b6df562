"""The contents of a report, in order. HTML and Markdown only format them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from calib.analysis.periods import PeriodTable
from calib.analysis.slices import SliceTests
from calib.analysis.summary import LIMITS, Held, Parts, shown_methods
from calib.blocks import methods
from calib.blocks.kinds import (
    Answer,
    Bullets,
    Drawing,
    Facts,
    Note,
    Paragraph,
    ReportDocument,
    Section,
)
from calib.data.cells import ScoreCells
from calib.feature import FEATURES, resolve
from calib.figures.cumulative import cumulative_difference_chart
from calib.figures.explorer import automatic_axis, explorer_data, packed_stops, stops_data
from calib.reports.contents.structure import Contents
from calib.reports.render import appendix, checklist, judged, slices_periods_decisions
from calib.text import (
    CROSSED,
    count,
    formula,
    level,
    moment,
    percent,
)
from calib.words.measures import KS


def answer(report: Contents) -> Answer:
    """The first screen, which is also the first half of the first printed page."""
    analysis = report.analysis
    origin = analysis.data.origin
    judge = report.parts.judge if report.parts else None
    return Answer(
        analysis,
        bool(origin and origin.example),
        appendix.caveat(report),
        judge=judge.numbers if judge else None,
        parts=_held_parts(report),
    )


def _held_parts(report: Contents) -> Parts:
    """Which slices and periods of the report hold."""
    if report.parts is None:
        return Parts()
    tables: list[tuple[str, Mapping[str, SliceTests | PeriodTable]]] = [
        (CROSSED.join(part.columns), part.tests) for part in report.parts.slices
    ]
    if report.parts.periods is not None:
        tables.append((report.parts.periods.column, report.parts.periods.tables))
    chosen = report.analysis.recommendation.method
    before, after = (
        tuple(Held.of(column, table[key]) for column, table in tables if key in table)
        for key in ("uncalibrated", chosen)
    )
    return Parts(before, () if chosen in ("", "uncalibrated") else after)


def record(report: Contents) -> Section:
    """What a validator asks first: who made it, when, of which data, with which software."""
    data = report.analysis.data
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    items = (
        ("Prepared by", report.author),
        ("Reviewed by", report.reviewer),
        ("Sign-off (name, date)", report.sign_off),
        ("Date", moment(report.date)),
        ("Model and its version", report.model_version),
        ("Scores", f"column {data.score_name} of {data.name}"),
        ("Period of the data", _period(report)),
        ("Positive class", f"{_positive(report)} ({percent(data.base_rate)} of rows)"),
        ("Calibrator", _calibrator(report)),
        ("Limits", _limits(report)),
        ("Fingerprint", data.fingerprint),
        ("Seed", count(report.analysis.settings.seed)),
        ("Software", f"{versions}; report schema {report.schema_version}"),
    )
    limitations = (appendix.caveat(report), *report.warnings)
    return Section(
        "Record", (Facts(items), Paragraph("Limitations", lead=True), Bullets(limitations))
    )


def _positive(report: Contents) -> str:
    """The definition of a positive row."""
    data = report.analysis.data
    if report.analysis.multiclass:
        return f"rows whose true class is {data.positive_name}"
    return f"{data.outcome_name} = {data.positive_name}"


def _period(report: Contents) -> str:
    """From the first to the last period that is shown, since one date could name one row."""
    part = report.parts.periods if report.parts else None
    if part is None:
        return "not known: no time column"
    names = part.tables["uncalibrated"].names
    ends = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    return f"{ends} (column {part.column})"


def _limits(report: Contents) -> str:
    """Whether the uncalibrated scores meet the limits that were set."""
    sentences = [
        limit.finding(report.analysis, "uncalibrated", report.limits[limit.argument]).sentence
        for limit in LIMITS
        if limit.argument in report.limits
    ]
    return f"{'. '.join(sentences)}." if sentences else "none were set"


def _calibrator(report: Contents) -> str:
    result = report.analysis.advised
    if result is None:
        return report.analysis.recommendation.sentence
    rows, function = count(report.analysis.data.n_calibration), formula(result.function.formula)
    return f"{result.label}, fitted on {rows} rows: {function}"


def comparison(report: Contents) -> Section:
    analysis = report.analysis
    at = level(analysis.settings.confidence_level)
    columns = methods.metric_columns(analysis.columns, analysis.methods, {}, with_levels=True)
    tables = methods.printed_tables(analysis, columns, at)
    return Section("Methods compared", (Paragraph(_protocol(report)), *tables))


def _protocol(report: Contents) -> str:
    data, settings = report.analysis.data, report.analysis.settings
    if data.protocol == "folds":
        drawn = f"{settings.n_folds} stratified folds, seed {settings.seed}"
        folds = f"the {data.named_folds} folds of the fold column" if data.named_folds else drawn
        return (
            f"Metrics use cross-fitting ({folds}): each row is scored by a calibrator fitted on "
            "the other folds. Plotted and printed calibrators are fitted on all rows."
        )
    return (
        f"Calibrators are fitted on {count(data.n_calibration)} calibration rows and scored on "
        f"{count(data.n_rows)} test rows."
    )


def whole_matrix(report: Contents) -> Section | None:
    """Metrics of every method on all classes, or None if there is one score per row."""
    compared = report.analysis.multiclass
    if compared is None:
        return None
    columns = methods.matrix_columns(compared, with_levels=True)
    tables = methods.printed_tables(report.analysis, columns, level(compared.confidence_level))
    text = (
        "All classes together, on held-out rows. The other sections show the view "
        f"{report.analysis.settings.view}: {report.analysis.data.positive_name}."
    )
    return Section("The whole matrix", (Paragraph(text), *tables))


def models(report: Contents) -> Section | None:
    """All models of the data, or None if there is one."""
    part = report.parts.models if report.parts else None
    if part is None:
        return None
    compared, origin = part.comparison, report.analysis.data.origin
    text = f"The other sections of this report are about {part.shown}."
    left_out = tuple(
        f"{name} could not be analysed: {reason}" for name, reason in compared.failures.items()
    )
    at = level(compared.settings.confidence_level)
    caption = f"Metrics of the models on held-out rows, with {at} intervals of the differences."
    return Section(
        "Models compared",
        (
            Paragraph(methods.models_before(compared), lead=True),
            Paragraph(f"{methods.models_after(compared)} {text}"),
            *([Bullets(left_out)] if left_out else []),
            methods.model_table(compared, caption),
            Note(methods.models_note(compared, counted=bool(origin and origin.of_counts))),
        ),
    )


def cumulative(report: Contents) -> Section:
    keys = [method.key for method in report.shown]
    text = (
        "This curve needs no bins. It adds up observed minus predicted from the lowest score to "
        "the highest. Where it rises, predictions are too low; where it falls, they are too "
        f"high. Its largest distance from zero is the {KS}. A calibrated model stays "
        "within the band."
    )
    chart = cumulative_difference_chart(report.analysis, keys)
    adjusted = [report.analysis.p_adjusted(key) for key in keys]
    tests = methods.calibration_tests(report.shown, adjusted)
    return Section("Cumulative difference", (Paragraph(text), Drawing(chart), tests))


SECTIONS: tuple[Callable[[Contents], Section | None], ...] = (
    judged.judge,
    record,
    models,
    whole_matrix,
    comparison,
    cumulative,
    slices_periods_decisions.slices,
    slices_periods_decisions.periods,
    slices_periods_decisions.decisions,
    appendix.bins,
    appendix.calibrators,
    appendix.reading,
    appendix.data,
    appendix.settings,
    appendix.reproduction,
    appendix.verification,
)


def sections(report: Contents) -> tuple[Section, ...]:
    """All sections of a report in order, without those of parts that it does not have."""
    added = (resolve(one.report) for one in FEATURES.values() if one.report)
    made = (make(report) for make in (*SECTIONS, *added))
    return tuple(section for section in made if section is not None)


# Bins of twice as many would take four times as many bytes of the file.
MAX_BINS_OF_SLIDER = 50


def document_of(report: Contents) -> ReportDocument:
    return ReportDocument(
        heading=report.heading,
        made=" · ".join(filter(None, (report.author, moment(report.date)))),
        facts=None,
        note=report.note,
        sections=sections(report) if report.checklist is None else checklist.sections(report),
        version=report.versions.get("calib", ""),
        contains=report.evidence.contains,
        explorer=_explorer(report),
        answer=answer(report),
    )


def _explorer(report: Contents) -> Callable[[], dict[str, Any]] | None:
    """The explorer of the cells that the report carries, which only HTML has.

    Intervals by cluster need resamples of rows.
    """
    if not report.evidence.can_be_refitted and report.analysis.multiclass is None:
        return None
    return partial(_explorer_data, report)


def _stops(cells: ScoreCells, level: float, most_bins: int) -> dict[str, str]:
    """The bins of all stops, without their intervals, which are half of the bytes.

    The script has the formula for the range of a brush, and uses it.
    """
    stops = stops_data(cells, level, most_bins=most_bins)
    return {name: values for name, values in stops.items() if name not in ("low", "high")}


def _explorer_data(report: Contents) -> dict[str, Any]:
    evidence, settings = report.evidence, report.analysis.settings
    level, stops = settings.confidence_level, ((settings.n_bins, settings.strategy),)
    most_bins = max(settings.n_bins, MAX_BINS_OF_SLIDER)
    cells = {key: evidence.scores(key) for key in report.analysis.methods}
    chosen = {
        "strategy": settings.strategy,
        "n_bins": settings.n_bins,
        "axis": automatic_axis(report.analysis),
        "hidden": [],
        "shown": list(shown_methods(report.analysis)),
        "range": None,
        "band": settings.band,
        "lines": [],
    }
    return {
        **explorer_data(report.analysis, cells, list(cells)),
        "chosen": chosen,
        "answered": 0,
        "stop": {key: packed_stops(of, level, stops) for key, of in cells.items()},
        "stops": [_stops(of, level, most_bins) for of in cells.values()],
        "most_bins": most_bins,
        "merged": evidence.grade == "guarded",
    }
