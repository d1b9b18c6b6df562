"""The appendix: everything that is needed to check the findings, or to make them again."""

from __future__ import annotations

from dataclasses import fields

from calib.analysis import MethodResult
from calib.blocks.kinds import (
    Attachment,
    Block,
    Bullets,
    Code,
    Drawing,
    Facts,
    Paragraph,
    Section,
    Table,
    Value,
    row,
)
from calib.curves.reliability import ReliabilityCurve
from calib.data.origin import Origin
from calib.figures.functions import functions_chart
from calib.numerics.arrays import FloatArray
from calib.reports.contents.evidence import Evidence
from calib.reports.contents.sealing import signer
from calib.reports.contents.settings_file import FILE_NAME, SavedSettings
from calib.reports.contents.structure import Contents, written_setting
from calib.reports.render.reproduction import command_line, library_call
from calib.text import (
    between_percents,
    count,
    formula,
    joined,
    level,
    percent,
    points,
    significant,
    span,
)

MAX_PRINTED_KNOTS = 24
DECLARED = {
    "yes": "Yes (declared by the author): the model was not trained on these rows",
    "no": "No (declared by the author): the model was trained on these rows",
    "unknown": "Not declared",
}


def caveat(report: Contents) -> str:
    """The one thing that is most likely to make these numbers wrong."""
    if report.held_out_declared == "no":
        return "The model was trained on these rows, so the results are optimistic."
    if report.held_out_declared == "unknown":
        return (
            "It is not confirmed that these are held-out predictions. On training rows the "
            "results are optimistic."
        )
    if report.analysis.data.protocol == "folds":
        return (
            "Calibrators were fitted and tested on parts of the same file. The results apply to "
            "data from the same source and period."
        )
    return "The results apply to new data only while the data do not change."


def bins(report: Contents) -> Section:
    tables = (_bin_table(method) for method in report.shown)
    return Section("Bins", tuple(tables))


def _bin_table(method: MethodResult) -> Table:
    curve = method.reliability
    interval = f"{level(curve.confidence_level)} interval"
    empty = f", {curve.n_empty} empty" if curve.n_empty else ""
    return Table(
        f"{method.label}: {curve.strategy} bins{empty}. Bins of fewer than ten rows are merged.",
        (
            "Scores",
            "Rows",
            "Mean score",
            "Observed",
            interval,
            "Difference (points)",
            "If calibrated",
        ),
        tuple(_bin(curve, i) for i in range(len(curve.rows))),
    )


def _bin(curve: ReliabilityCurve, i: int) -> tuple[Value, ...]:
    return row(
        span(curve.low_edge[i], curve.high_edge[i]),
        count(curve.rows[i]),
        percent(curve.mean_score[i]),
        percent(curve.observed[i]),
        between_percents(curve.low[i], curve.high[i]),
        points(curve.gap[i]),
        between_percents(curve.band_low[i], curve.band_high[i]),
    )


def data(report: Contents) -> Section:
    data = report.analysis.data
    grouped = report.analysis.uncalibrated.metrics["log_loss"].resolution > 0.0
    items = [
        ("Held-out predictions", DECLARED[report.held_out_declared]),
        ("Columns", data.read_as),
        ("Rows scored", count(data.n_rows)),
        ("Rows fitted on", count(data.n_calibration)),
        ("Positive rows", f"{count(data.n_positive)} ({percent(data.base_rate)})"),
        ("Score cells" if grouped else "Distinct scores", count(data.n_distinct)),
        ("Row weights", "yes" if data.weighted else "none"),
        *_read_as(data.origin),
        *((f"Rows set aside: {reason}", count(rows)) for reason, rows in data.set_aside.items()),
    ]
    return Section("Data", (Facts(tuple(items)), Paragraph(report.evidence.contains)))


def _read_as(origin: Origin | None) -> list[tuple[str, str]]:
    """Further arguments with which the file was read."""
    if origin is None:
        return []
    columns = origin.columns
    test = f", {columns.test_value} marks test rows" if columns.test_value else ""
    items = {
        "File": origin.file,
        "Test file": origin.test,
        "Weight column": columns.weight,
        "Cluster ID column": columns.group,
        "Split column": columns.split and f"{columns.split}{test}",
        "Fold column": columns.fold,
        "Model": columns.model_value,
        "Conversion of the scores": columns.transform.removeprefix("none"),
        "Scores": "for the negative class" if columns.swap else "",
        "Rows that equal an earlier row": count(origin.repeated_rows)
        if origin.repeated_rows
        else "",
        "Rows with the id of an earlier row": count(origin.repeated_ids)
        if origin.repeated_ids
        else "",
    }
    return [(name, value) for name, value in items.items() if value]


def settings(report: Contents) -> Section:
    settings = report.analysis.settings
    rows = tuple(
        row(
            field.name,
            written_setting(getattr(settings, field.name)),
            _default_or_changed(report, field.name),
        )
        for field in fields(settings)
    )
    table = Table("All settings of this analysis.", ("Setting", "Value", ""), rows, n_text=3)
    return Section("Settings", (table,))


def _default_or_changed(report: Contents, name: str) -> Value:
    if name == "n_folds" and report.analysis.data.named_folds:
        return Value("no effect: the data have a fold column")
    if name in report.settings_changed:
        return Value("changed", marked=True)
    return Value("default")


def calibrators(report: Contents) -> Section:
    rows = tuple(
        row(method.label, formula(method.function.formula), _knots(method.function.knots))
        for method in (report.analysis.methods[key] for key in report.analysis.ranked)
    )
    curve = report.analysis.compact_logit
    chosen = "set manually" if report.analysis.settings.epsilon else "automatic"
    epsilon = (
        f"Splines use the compact logit with epsilon = {significant(curve.epsilon)} ({chosen}). "
        f"Scores outside [epsilon, 1 - epsilon] are left unchanged: {count(curve.n_outside)} "
        "rows."
    )
    has_curve = report.analysis.uncalibrated.function.has_curve
    caption = "Fitted calibrators; s is the score."
    if not has_curve:
        caption = (
            "Fitted calibrators; P are the scores of a row. They use whole rows, so they cannot "
            "be drawn as a curve of one score."
        )
    table = Table(caption, ("Method", "Function", "Knots"), rows, n_text=3)
    if not has_curve:
        return Section("Fitted calibrators", (table,))
    text = (
        "Each calibrator maps the score (x) to a calibrated probability (y). Dots are observed "
        "frequencies."
    )
    chart = Drawing(functions_chart(report.analysis, list(report.analysis.methods)))
    return Section("Fitted calibrators", (Paragraph(text), chart, table, Paragraph(epsilon)))


def _knots(knots: FloatArray) -> str:
    if not len(knots):
        return "none"
    if len(knots) > MAX_PRINTED_KNOTS:
        return f"{len(knots)}, from {significant(knots[0])} to {significant(knots[-1])}"
    return ", ".join(significant(knot) for knot in knots)


def reading(report: Contents) -> Section:
    meanings = tuple((column.label, column.meaning) for column in report.analysis.columns)
    loss = "multiclass log loss" if report.analysis.multiclass else "log loss"
    general = (
        "Intervals show how much a number would vary in other samples from the same source. "
        f"Methods are ranked by {loss}, because ECE depends on the binning."
    )
    return Section("How to read this", (Paragraph(general), Facts(meanings)))


def verification(report: Contents) -> Section:
    """What `calib verify` checks, and the seal."""
    evidence, seal = report.evidence, report.seal
    signed = signer(seal)
    by = f" It is signed with the key {signed}." if signed else " It is not signed."
    blocks: list[Block] = [
        Paragraph(
            "calib verify report.json checks the seal of the JSON file of this report, and "
            f"{_checked(evidence)}"
        )
    ]
    if evidence.needs_rows:
        blocks.append(
            Bullets(tuple(f"Not recomputed: {sentence}" for sentence in evidence.needs_rows))
        )
    blocks.append(Paragraph(f"SHA-256 of its canonical JSON: {seal.sha256}.{by}"))
    return Section("How to verify this", tuple(blocks))


def _checked(evidence: Evidence) -> str:
    if evidence.is_refitted:
        return "computes each number again from its counts, to the last bit."
    absent = "the counts of its scores" if evidence.grade == "guarded" else "its rows"
    return f"compares its sums. Its numbers cannot be computed again: {absent} are not in it."


def reproduction(report: Contents) -> Section:
    if report.parts is not None and report.parts.judge is not None:
        text = "Name the files of the judged rows and of the labels; without a second file, None."
        code = Code(library_call(report))
        return Section("How to reproduce this", (Paragraph(text), code))
    command = (
        f"Or, from the command line, with the settings of this report in {FILE_NAME} (its JSON "
        "file serves as well):"
    )
    return Section(
        "How to reproduce this",
        (
            Paragraph(
                f"{_where_to_run(report)} If the fingerprint is the same, the data and all numbers "
                "are the same."
            ),
            Code(library_call(report)),
            *_other_models(report),
            Paragraph(command),
            Code(command_line(report)),
            Attachment(FILE_NAME, SavedSettings.of(report).json()),
        ),
    )


def _other_models(report: Contents) -> tuple[Block, ...]:
    if report.parts is None or report.parts.models is None:
        return ()
    text = (
        "For the section Models compared, read all models by calib.loading.load_models, compare "
        "them by calib.compare_models, and give parts_of the result as models and the name of the "
        "shown one as model."
    )
    return (Paragraph(text),)


def _where_to_run(report: Contents) -> str:
    origin = report.analysis.data.origin
    if origin is None or origin.of_counts:
        return (
            "This report does not record how its rows were read: read the same columns, with "
            f"the same repairs if there were any.{_more_columns(report)}"
        )
    if origin.example:
        return "The data come with calib."
    if not origin.file:
        return "The rows were a table in memory: use that table instead of the file."
    files = [*(origin.log_files or (origin.file,)), *([origin.test] if origin.test else [])]
    return f"Run this where {joined(files)} {'are' if len(files) > 1 else 'is'}."


def _more_columns(report: Contents) -> str:
    data = report.analysis.data
    columns = ["score, one column per class,"] if report.analysis.multiclass else []
    columns += ["weight"] if data.weighted else []
    columns += ["split, or test,"] if data.protocol == "test rows" else []
    if not columns:
        return ""
    return f" Also give {' and '.join(columns)} of these data, if it is not guessed."
