"""What a report says, in order. One function a section; HTML and Markdown only dress it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from calib.analysis import Column, MethodResult
from calib.curves.reliability import ReliabilityCurve
from calib.figures import (
    before_after_chart,
    cumulative_difference_chart,
    difference_chart,
    functions_chart,
    reliability_chart,
)
from calib.figures.words import count, probability, span
from calib.numerics.arrays import FloatArray
from calib.reports.blocks import (
    Block,
    Bullets,
    Code,
    Drawing,
    Facts,
    Paragraph,
    Section,
    Table,
    Value,
)
from calib.reports.document import Report
from calib.reports.words import interval, number, percent, signed
from calib.verdict import p_words

MOST_KNOTS = 24
DECLARED = {
    "yes": "Yes, declared by the author: the model was not trained on these rows",
    "no": "No, declared by the author: the model was trained on these rows",
    "unknown": "Not declared",
}


def sections(report: Report) -> tuple[Section, ...]:
    """All sections of a report, in order."""
    return tuple(make(report) for make in SECTIONS)


def data_facts(report: Report) -> Facts:
    """What the head of a report says about the data."""
    data = report.analysis.data
    return Facts(
        (
            ("Data", data.name),
            ("Fingerprint", data.fingerprint),
            ("Held-out predictions", DECLARED[report.held_out_declared]),
        )
    )


def after(report: Report) -> MethodResult | None:
    """The method that "after" shows: the recommended one, else the best, if there is any."""
    analysis = report.analysis
    chosen = analysis.recommendation.method
    others = [method for key, method in analysis.methods.items() if key != "uncalibrated"]
    if chosen not in ("", "uncalibrated"):
        return analysis.methods[chosen]
    return min(others, key=lambda method: method.metrics["log_loss"].value, default=None)


def _shown(report: Report) -> list[MethodResult]:
    best = after(report)
    return [report.analysis.uncalibrated, *([best] if best else [])]


def _verdict(report: Report) -> Section:
    data = report.analysis.data
    numbers = (
        f"{count(data.n_rows)} rows, {count(data.n_positive)} of them positive: observed frequency "
        f"{percent(data.base_rate)}, mean predicted probability {percent(data.mean_score)}."
    )
    return Section(
        "Verdict", (Paragraph(report.analysis.verdict.sentence, lead=True), Paragraph(numbers))
    )


def _recommendation(report: Report) -> Section:
    advice = report.analysis.recommendation
    return Section(
        "Recommendation",
        (
            Paragraph(advice.sentence, lead=True),
            Bullets(advice.reasons),
            Paragraph(f"Keep in mind: {_caveat(report)}"),
        ),
    )


def _caveat(report: Report) -> str:
    """The one thing that is most likely to make these numbers wrong."""
    if report.held_out_declared == "no":
        return (
            "the model was trained on these rows. Its scores fit them better than they will fit "
            "new ones, and so does every number here."
        )
    if report.held_out_declared == "unknown":
        return (
            "nobody has declared that the model was not trained on these rows. If it was, every "
            "number here is too good."
        )
    if report.analysis.data.protocol == "folds":
        return (
            "maps were fitted and tested on parts of the same file. They hold for data that come "
            "from the same source at the same time."
        )
    return "the test rows stand for the data to come only as long as the data do not change."


def _reliability(report: Report) -> Section:
    shown = _shown(report)
    keys = [method.key for method in shown]
    analysis = report.analysis
    chart = before_after_chart(analysis, keys) if len(keys) > 1 else reliability_chart(analysis)
    text = (
        "Dots on the diagonal are calibrated. The band is where dots of a calibrated model would "
        f"fall by chance, {analysis.settings.confidence_level:.0%} of the time; bars are intervals "
        "of the observed frequency."
    )
    title = "Reliability before and after" if len(keys) > 1 else "Reliability"
    return Section(title, (Paragraph(text), Drawing(chart)))


def _comparison(report: Report) -> Section:
    analysis = report.analysis
    level = f"{analysis.settings.confidence_level:.0%}"
    blocks: list[Block] = [Paragraph(_protocol(report)), _metric_table(report, level)]
    if len(analysis.methods) > 1:
        blocks += [_difference_table(report, level), Drawing(difference_chart(analysis))]
    return Section("Methods compared", tuple(blocks))


def _protocol(report: Report) -> str:
    data, settings = report.analysis.data, report.analysis.settings
    if data.protocol == "folds":
        return (
            f"Each row is scored by maps that were fitted without it ({settings.n_folds} "
            f"stratified folds, seed {settings.seed}). Maps that are drawn or printed are fitted on all rows."
        )
    return (
        f"Maps are fitted on {count(data.n_calibration)} calibration rows and scored on "
        f"{count(data.n_rows)} test rows."
    )


def _metric_table(report: Report, level: str) -> Table:
    analysis = report.analysis
    rows = tuple(
        (_named(report, method), *(_metric(method, column) for column in analysis.columns))
        for method in analysis.methods.values()
    )
    return Table(
        f"Metrics on held-out rows; {level} intervals below the values.",
        ("Method", *(column.label for column in analysis.columns)),
        rows,
    )


def _named(report: Report, method: MethodResult) -> Value:
    recommended = method.key == report.analysis.recommendation.method
    return Value(method.label, "recommended" if recommended else "", marked=recommended)


def _metric(method: MethodResult, column: Column) -> Value:
    estimate = method.metrics[column.key]
    detail = interval(estimate, column.digits)
    if column.key == "ks_error":
        detail = p_words(method.ks.p_value)
    return Value(number(estimate.value, column.digits), detail)


def _difference_table(report: Report, level: str) -> Table:
    analysis = report.analysis
    columns = [c for c in analysis.columns if c.key in analysis.uncalibrated.differences]
    rows = tuple(
        (_named(report, method), *(_difference(method, column) for column in columns))
        for key, method in analysis.methods.items()
        if key != "uncalibrated"
    )
    return Table(
        f"Differences to the uncalibrated scores, paired by row, with {level} intervals. Below "
        "zero is better; an interval that holds zero cannot be told from no change.",
        ("Method", *(column.label for column in columns)),
        rows,
    )


def _difference(method: MethodResult, column: Column) -> Value:
    if column.key not in method.differences:
        return Value("–")
    estimate = method.differences[column.key]
    digits = column.digits
    return Value(signed(estimate.value, digits), interval(estimate, digits, sign=True))


def _cumulative(report: Report) -> Section:
    keys = [method.key for method in _shown(report)]
    text = (
        "No bins: the curve adds up observed minus predicted from the lowest score to the highest. "
        "Where it climbs the scores are too low, where it falls they are too high. Its largest "
        "distance from zero is the KS error; a calibrated model stays within the band."
    )
    chart = cumulative_difference_chart(report.analysis, keys)
    return Section("Cumulative difference", (Paragraph(text), Drawing(chart)))


def _functions(report: Report) -> Section:
    keys = list(report.analysis.methods)
    text = "What each fitted map makes of a score, over the observed frequencies."
    chart = functions_chart(report.analysis, keys)
    return Section("Calibration functions", (Paragraph(text), Drawing(chart)))


def _bins(report: Report) -> Section:
    tables = (_bin_table(method) for method in _shown(report))
    return Section("Bins", tuple(tables))


def _bin_table(method: MethodResult) -> Table:
    curve = method.reliability
    empty = f", {curve.n_empty} empty" if curve.n_empty else ""
    return Table(
        f"{method.label}: {curve.strategy} bins{empty}. Bins of fewer than ten rows are merged.",
        ("Scores", "Rows", "Mean score", "Observed", "Observed − score", "If calibrated"),
        tuple(_bin(curve, i) for i in range(len(curve.rows))),
    )


def _bin(curve: ReliabilityCurve, i: int) -> tuple[Value, ...]:
    return (
        Value(span(curve.low_edge[i], curve.high_edge[i])),
        Value(count(curve.rows[i])),
        Value(probability(curve.mean_score[i])),
        Value(probability(curve.observed[i]), f"{curve.low[i]:.3f} to {curve.high[i]:.3f}"),
        Value(signed(curve.gap[i], 3)),
        Value(f"{curve.band_low[i]:.3f} to {curve.band_high[i]:.3f}"),
    )


def _data(report: Report) -> Section:
    data = report.analysis.data
    items = [
        ("Outcome column", data.outcome_name),
        ("Score column", data.score_name),
        ("Positive class", data.positive_name),
        ("Rows scored", count(data.n_rows)),
        ("Rows that maps are fitted on", count(data.n_calibration)),
        ("Positive rows", f"{count(data.n_positive)} ({percent(data.base_rate)})"),
        ("Distinct scores", count(data.n_distinct)),
        ("Row weights", "yes" if data.weighted else "none"),
        *((f"Rows set aside: {reason}", count(rows)) for reason, rows in data.set_aside.items()),
    ]
    return Section("Data", (Facts(tuple(items)), Paragraph(report.contains)))


def _warnings(report: Report) -> Section:
    found = report.analysis.warnings
    return Section("Warnings", (Bullets(found) if found else Paragraph("None."),))


def _settings(report: Report) -> Section:
    settings = report.analysis.settings
    rows = tuple(
        (
            Value(field.name),
            Value(_written(getattr(settings, field.name))),
            Value("changed", marked=True)
            if field.name in report.settings_changed
            else Value("default"),
        )
        for field in fields(settings)
    )
    table = Table("All settings of this analysis.", ("Setting", "Value", ""), rows, n_text=3)
    return Section("Settings", (table,))


def _written(value: object) -> str:
    if value is None:
        return "by rule"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _maps(report: Report) -> Section:
    rows = tuple(
        (
            Value(method.label),
            Value(method.function.formula),
            Value(_knots(method.function.knots)),
        )
        for method in report.analysis.methods.values()
    )
    curve = report.analysis.compact_logit
    chosen = "set by hand" if report.analysis.settings.epsilon else "by the rule"
    epsilon = (
        f"Splines see scores through the compact logit with epsilon {curve.epsilon:.3g} "
        f"({chosen}); {count(curve.n_outside)} rows lie outside, where it is the identity."
    )
    table = Table("Fitted maps; s is the score.", ("Method", "Map", "Knots"), rows, n_text=3)
    return Section("Fitted maps", (table, Paragraph(epsilon)))


def _knots(knots: FloatArray) -> str:
    if not len(knots):
        return "none"
    if len(knots) > MOST_KNOTS:
        return f"{len(knots)}, from {knots[0]:.3g} to {knots[-1]:.3g}"
    return ", ".join(f"{knot:.3g}" for knot in knots)


def _reading(report: Report) -> Section:
    meanings = tuple((column.label, column.meaning) for column in report.analysis.columns)
    general = (
        "Intervals say how far a number would move on other rows from the same source. "
        "Methods are ranked by log loss alone: binned errors change with the bins."
    )
    return Section("How to read this", (Paragraph(general), Facts(meanings)))


def _reproduction(report: Report) -> Section:
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return Section(
        "How to reproduce this",
        (
            Paragraph("The same file gives the same fingerprint, and the same numbers."),
            Code(_call(report)),
            Paragraph(f"Computed with {versions}. Report schema {report.schema_version}."),
        ),
    )


def _call(report: Report) -> str:
    data, settings = report.analysis.data, report.analysis.settings
    chosen = ", ".join(f"{name}={getattr(settings, name)!r}" for name in report.settings_changed)
    names = f"outcome={data.outcome_name!r}, score={data.score_name!r}"
    return "\n".join(
        (
            "import calib",
            "",
            f"predictions = calib.load({data.name!r}, {names})",
            f"assert predictions.fingerprint == {data.fingerprint!r}",
            f"analysis = calib.analyze(predictions, calib.Settings({chosen}))",
            'calib.report(analysis).save("report.html")',
        )
    )


SECTIONS: tuple[Callable[[Report], Section], ...] = (
    _verdict,
    _recommendation,
    _reliability,
    _comparison,
    _cumulative,
    _functions,
    _bins,
    _data,
    _warnings,
    _settings,
    _maps,
    _reading,
    _reproduction,
)
