"""The commands: a function for each, whose parameters are its options and arguments.

The functions are imported for every help text and completion, so each imports what it calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from calib.cli import options as shared
from calib.cli.options import check_outputs
from calib.cli.parameters import Part, Words
from calib.data.file_options import LoadOptions, ModelOptions


def report(
    rows: shared.Rows,
    settings: shared.SettingsOptions,
    parts: shared.PartsOptions,
    words: shared.ReportWords,
    certificate: shared.CertificateOptions,
    judged: shared.JudgeRows,
    limits: shared.Limits,
    *,
    output: shared.Output,
    sign: Path | None = None,
    images: Literal["png", "svg"] | None = None,
) -> int:
    """Write a report as HTML, JSON, Markdown or tables.

    Analyse predictions and write a report. The paths of the written files are printed, one per
    line. With limits, the record of the report says whether they are met. With gold labels, the
    rows are those that a judge scored, and the report begins with their pass rate. Of the settings,
    only the level and the seed are used then.

    output: file to write, ending in .html, .json, .md or .zip; .zip holds the tables as CSV
    sign KEY: private Ed25519 key to sign with, a file in PEM or OpenSSH's form; needs the package
        cryptography
    images: also draw every chart into the .zip; needs kaleido and a Chrome or Chromium

    examples:
      calib report predictions.parquet --outcome y --score p -o report.html
      calib report cal.csv --test test.csv --outcome y --score p --methods platt,spline \\
          --title "Churn, March" --author Ada -o report.html -o report.json
      calib report scores.csv --outcome y --score p --transform percent --bins 20 -o report.md
      calib report predictions.parquet --outcome y --score p --slice half --cost-fn 4 \\
          -o report.html -o tables.zip
      calib report predictions.parquet --outcome y --score p --grade exact --sign key.pem \\
          -o report.json
      calib report predictions.parquet --outcome y --score p --template clinical -o report.html
      calib report judged.csv --gold gold.csv -o judge.html
      calib report predictions/ --sample 200000 --outcome y --score p -o report.html
      calib report north.parquet south.parquet -o all.html
    """
    from calib.cli import report as reporting
    from calib.cli.predictions import progress_of
    from calib.reports import Report

    check_outputs(output, Report.formats)
    if images is not None:
        reporting.check_images(output)
    about = words.arguments() | {"limits": limits.bounds()}
    if judged.gold is None:
        made = reporting.report_of(rows, settings, parts, certificate, about)
    else:
        made = reporting.report_of_judge(rows, judged, settings, about)
    made = made if sign is None else made.signed(sign)
    return reporting.save(made, output, images, progress_of(rows))


def check(
    rows: shared.Rows,
    settings: Annotated[shared.SettingsOptions, Part(leave_out=("methods",))],
    limits: shared.CheckedLimits,
    judged: shared.JudgeLimits,
    log: shared.LogLimits,
    *,
    method: shared.Method = "uncalibrated",
    junit: Path | None = None,
) -> int:
    """Check predictions against limits; exit with status 1 if one is exceeded.

    Check the scores, or a calibrator's held-out scores, against limits. One line on standard output
    reports the result; of a log of a decision model, one line per question.

    method KEY: method whose scores are checked: uncalibrated or a calibrator
    junit: also write JUnit XML

    examples:
      calib check predictions.parquet --outcome y --score p --max-ks 0.02
      calib check cal.csv --test test.csv --outcome y --score p --method spline \\
          --max-ks 0.02 --min-p 0.01 --junit calibration.xml
      calib check april.parquet --outcome y --score p --against march.json
      calib check predictions.parquet --outcome y --score p --certify-error 0.05
      calib check judged.csv --gold gold.csv --min-kappa 0.4 --max-width 0.1
      calib check answers.jsonl --max-error 0.05

    exit status:
      0  all limits are met         1  a limit is exceeded
      2  the input cannot be used   3  an internal error of calib, with a traceback
    """
    from calib.cli import check as checking

    if judged.min_kappa is not None or judged.max_width is not None:
        return checking.check_judge(rows, settings, limits, judged, junit)
    if log != shared.LogLimits():
        return checking.check_log(rows, settings, limits, log, junit)
    return checking.check_rows(rows, settings, limits, method, junit)


def compare(
    first: Path,
    second: Path,
    *,
    output: shared.Output | None = None,
) -> int:
    """Compare two reports (report.json).

    Show what changed between two reports: data, settings, verdict, and every number under common
    settings. Differences are second minus first: give the earlier one first, as the page does.

    first: report.json, the earlier one
    second: report.json, the later one
    output: file to write, ending in .html, .json or .md; Markdown on standard output if not given

    examples:
      calib compare march.json april.json
      calib compare march.json april.json -o comparison.html -o comparison.json

    exit status:
      0  the reports were compared, whether or not they differ
      2  one of the files is not a report
    """
    from calib.cli.against import open_report
    from calib.cli.streams import save_each
    from calib.reports import ReportComparison, compare_reports

    check_outputs(output or (), ReportComparison.formats)
    comparison = compare_reports(open_report(first), open_report(second))
    save_each(output or (), comparison.save)
    if not output:
        print(comparison.markdown(), end="")
    return 0


Warehouse = Literal[
    "snowflake",
    "bigquery",
    "databricks",
    "spark",
    "postgres",
    "redshift",
    "trino",
    "duckdb",
    "clickhouse",
    "tsql",
]
OF_QUERY = ("outcome", "score", "slices", "time", "weight")
NOT_SCANNED = (
    *("delimiter", "header", "encoding", "sheet", "scorer", "filter", "correct_from"),
    *("percent_above_1", "predicted", "decimal", "test"),
)
Cross = Annotated[
    list[tuple[str, str]] | None,
    Words("two columns to slice by together.", "COLUMN COLUMN"),
]


class _ScanColumns(ModelOptions):
    """Columns. What is not named is guessed."""


class _QueryColumns(LoadOptions):
    """Columns."""


def scan(
    sources: list[str],
    columns: Annotated[_ScanColumns, Part(leave_out=NOT_SCANNED)],
    *,
    output: shared.Output,
    cross: Cross = None,
    table: str | None = None,
    view: str = "",
) -> int:
    """Count predictions of any size into a small file of cells.

    Count predictions where they are stored, in bounded memory: Parquet, CSV or Arrow files, a
    folder of them, or a table of a DuckDB database. The cells, without rows, are written to a file
    that report and check read.

    sources FILE: file, glob or folder, or - for standard input
    output: file to write, a file of cells, ending in .parquet
    table NAME: table of a DuckDB database
    view: with one score column per class: top:1 (the default) or class:k

    examples:
      calib scan predictions/ --outcome y --score p --slice region -o cells.parquet
      calib scan scores.duckdb --table scores --outcome y --score p -o cells.parquet
      calib report cells.parquet -o report.html
      calib scan predictions/ --outcome y --score p --cross region plan -o cells.parquet
      calib scan predictions/ --outcome y --models p_old --models p_new -o cells.parquet
      calib report cells.parquet --model-value p_new -o report.html
    """
    from calib.cli.scan import count

    check_outputs(output, (".parquet",))
    return count(sources, _with_crossed(columns, cross), table=table, view=view, output=output)


def sql(
    columns: Annotated[_QueryColumns, Part(only=OF_QUERY)],
    *,
    dialect: Warehouse,
    table: str,
    cross: Cross = None,
) -> int:
    """Print the query that counts predictions in a warehouse.

    Print the query that counts predictions into cells. Run it in the warehouse, save its result as
    CSV or Parquet, and give that to report or check. No row leaves the warehouse.

    dialect: SQL dialect of the warehouse
    table NAME: table of the query, with its schema, such as lake.scores; a part of the name that
        contains a dot is written in double quotes

    examples:
      calib sql --dialect snowflake --table scores --outcome y --score p --slice region
      calib report cells.csv -o report.html     (the result of the query, saved)
    """
    from calib.cli.scan import print_query

    return print_query(dialect, table, _with_crossed(columns, cross))


def _with_crossed(columns: Any, cross: list[tuple[str, str]] | None) -> dict[str, Any]:
    """Columns as arguments, with pairs of slices after the single ones."""
    arguments = shared.changed(columns)
    return arguments | {"slices": [*arguments.get("slices", ()), *(cross or ())]}


def export(
    rows: shared.Rows,
    settings: Annotated[shared.SettingsOptions, Part(leave_out=("methods",))],
    *,
    output: shared.Output,
    method: shared.Method | None = None,
    dialect: shared.Dialect | None = None,
    table: str = "scores",
    column: list[str] | None = None,
) -> int:
    """Write a fitted calibrator as JSON, SQL, Python, JavaScript or ONNX.

    Fit a calibrator and write it to files that give the same numbers elsewhere. The paths of the
    written files are printed, one per line.

    output: file to write, ending in .json, .sql, .py, .js or .onnx
    method KEY: the calibrator (default: the recommended one)
    dialect NAME: SQL dialect (default: duckdb)
    table NAME: table of the query, with its schema, such as lake.scores; a part of the name that
        contains a dot is written in double quotes
    column COLUMN: column of the score in the query; once per class for a matrix (default: score, or
        the names of the classes)

    examples:
      calib export cal.csv --outcome y --score p --method spline -o map.json
      calib export cal.csv --outcome y --score p --method beta -o map.sql --dialect bigquery
      calib export map.json -o map.sql --dialect snowflake --table scored --column p

    exit status:
      0  the files were written and give the calibrator's numbers
      2  the input cannot be used, or a file gave another value at a test score
    """
    from calib.cli import export as exporting
    from calib.exports import TARGETS

    check_outputs(output, TARGETS)
    fitted, about = exporting.fitted_calibrator(rows, settings, method)
    return exporting.save(fitted, output, dialect, {"table": table, "columns": column} | about)


def verify(
    file: Path,
    *,
    signed_by: Path | None = None,
    source: Path | None = None,
) -> int:
    """Recompute a report, or write an exported calibrator again and compare.

    Check the seal of a report.json, and compute the numbers of an exact one again from its counts.
    Or write an exported calibrator again, compare the two texts, and run the text at test scores if
    they are equal. One line on standard output gives the result; standard error lists what is not
    verified.

    file: report.json, or - for standard input, or a file that ends in .json, .sql, .py, .js or
        .onnx
    signed_by KEY: public Ed25519 key that must have signed the report, in PEM or OpenSSH's form
    source JSON: JSON file of the same calibrator; needed where a file has no formula as data, such
        as that of a spline (default: the file of the same name that ends in .json)

    examples:
      calib verify report.json
      calib verify report.json --signed-by key.pub
      calib verify map.sql
      calib verify map.sql --source map.json

    A guarded report is "consistent": its sums agree, and the counts of its scores are not in it.
    All other results are "pass" or "fail".

    exit status:
      0  all numbers were reproduced, or are consistent
      1  a number differs (the first one is named), the file was changed, or another key signed it
      2  the file is neither a report nor an exported calibrator
    """
    from calib.cli.export import verify_file

    return verify_file(file, signed_by, source)


MAX_PORT = 65_535
# The page of the data asks for these, so the command has no options for them.
ASKED_ON_PAGE = ("strict", "exact", "model_value", "name")


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not 0 <= number <= MAX_PORT:
        raise ValueError(
            f"must be a whole number from 0 (any free port) to {MAX_PORT}, got {text!r}."
        )
    return number


Port = Annotated[int, Words(convert=_port)]


class _ServedColumns(LoadOptions):
    """Columns. What is not named is guessed."""


def serve(
    columns: Annotated[_ServedColumns, Part(leave_out=ASKED_ON_PAGE)],
    predictions: Sequence[str] = (),
    *,
    table: str | None = None,
    port: Port | None = None,
    address: str | None = None,
    allow_host: list[str] | None = None,
) -> int:
    """Open the dashboard, on a file if one is named.

    Start the dashboard and print its address. Named data open as if they were dropped on the first
    page; several files are one model each.

    predictions FILE: file, - for standard input, folder, glob, or DuckDB database
    table NAME: table of a DuckDB database
    port: default: 8501, or the next free port
    address NAME: default: localhost, this machine only
    allow_host NAME: one more name under which browsers know the server (*.example.org: all below
        it); other names are refused

    examples:
      calib serve
      calib serve predictions.parquet --outcome y --score p
      calib serve cal.csv --test test.csv --port 8600
      calib serve scores.duckdb --table scores --outcome y --score p

    The data are open in every session: everybody who can open the dashboard sees them. It listens
    on this machine only, unless --address is given. Other options of Streamlit are set as
    environment variables, such as STREAMLIT_SERVER_MAX_UPLOAD_SIZE. In a checkout of the project,
    `streamlit run app.py` opens the dashboard without a file.
    """
    from calib.cli.serve import serve_data

    arguments = shared.arguments_of(columns, LoadOptions)
    return serve_data(predictions, table, arguments, port, address, allow_host or [])


By = Annotated[str, Words("name for the log (default: the user who is logged in)", "NAME")]


def reports() -> None:
    """List, delete, restore, verify and export saved reports.

    Manage the reports that were saved in the dashboard. A deleted report can be restored for 30
    days.

    examples:
      calib reports list
      calib reports delete ID
      calib reports restore ID
      calib reports verify --export copies/

    CALIB_HOME or CALIB_DATABASE_URL names where the reports are kept, as for the dashboard.
    """


Ids = Annotated[list[str], Words("id of a report", "ID")]


def reports_list() -> int:
    """The saved reports, and those that can be restored."""
    from calib.cli.reports import opened_store, show_saved

    with opened_store() as store:
        return show_saved(store)


def reports_delete(
    ids: Ids,
    *,
    for_good: bool = False,
    by: By = "",
) -> int:
    """Delete reports; they can be restored for 30 days.

    for_good: remove them permanently, at once
    """
    from calib.cli.reports import delete, opened_store

    with opened_store() as store:
        return delete(store, ids, by, for_good=for_good)


def reports_restore(ids: Ids, *, by: By = "") -> int:
    """Restore deleted reports."""
    from calib.cli.reports import opened_store, restore

    with opened_store() as store:
        return restore(store, ids, by)


def reports_log() -> int:
    """Who saved, deleted and restored which report."""
    from calib.cli.reports import opened_store, show_log

    with opened_store() as store:
        return show_log(store)


def reports_verify(
    *,
    export: str | None = None,
) -> int:
    """Check that every report can be read.

    export FOLDER: write every report that can be opened into this folder, as ID.json
    """
    from calib.cli.reports import opened_store, verify_all

    with opened_store() as store:
        return verify_all(store, export)


# In the order of the help text; a tuple is a group with its commands. Those of features follow.
COMMANDS: tuple[Any, ...] = (
    report,
    check,
    compare,
    scan,
    sql,
    export,
    (reports, reports_list, reports_delete, reports_restore, reports_log, reports_verify),
    verify,
    serve,
)
