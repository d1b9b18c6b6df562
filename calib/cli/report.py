"""``report``: from a file of predictions to files of a report."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

from calib.analysis import Analysis, analyze
from calib.analysis.decisions import Costs
from calib.analysis.plans import choose_plan, with_plan
from calib.cli import certified, judge, options
from calib.cli.predictions import predictions_of
from calib.cli.streams import save_each
from calib.data.base import Data
from calib.reports import Declared, Parts, Report, parts_of
from calib.reports.contents.evidence import GRADES
from calib.reports.render.archive import archive, table_files
from calib.reports.render.files import write_whole
from calib.text import quoted

EXAMPLES = """examples:
  calib report predictions.parquet --outcome y --score p -o report.html
  calib report cal.csv --test test.csv --outcome y --score p --methods platt,spline \\
      --title "Churn, March" --author Ada -o report.html -o report.json
  calib report scores.csv --outcome y --score p --transform percent --bins 20 -o report.md
  calib report predictions.parquet --outcome y --score p --slice half --cost-fn 4 \\
      -o report.html -o tables.zip
  calib report predictions.parquet --outcome y --score p --grade exact --sign key.pem \\
      -o report.json
  calib report judged.csv --gold gold.csv -o judge.html
  calib report predictions/ --sample 200000 --outcome y --score p -o report.html
  calib report north.parquet south.parquet -o all.html
"""


def add(commands: options.Commands) -> None:
    parser = options.add_command(
        commands,
        "report",
        run,
        help="write a report as HTML, JSON, Markdown or tables",
        description="Analyse predictions and write a report. The paths of the written files are "
        "printed, one per line.",
        epilog=EXAMPLES,
    )
    options.add_data(parser)
    options.add_settings(parser)
    options.add_parts(parser)
    words = parser.add_argument_group("report")
    options.add_words(words)
    words.add_argument("--reviewer", metavar="TEXT", default="", help="who reviewed the report")
    words.add_argument(
        "--model-version", metavar="TEXT", default="", help="the model and its version"
    )
    words.add_argument(
        "--sign-off",
        metavar="TEXT",
        default="",
        help="who signed the report off, and when. A settings file never contains it",
    )
    words.add_argument(
        "--held-out",
        choices=get_args(Declared),
        default="unknown",
        help="whether these are held-out predictions (the model was not trained on these rows)",
    )
    words.add_argument(
        "--grade",
        choices=GRADES,
        default="guarded",
        help="counts in the report. guarded: cells of at least ten rows, for charts; calib verify "
        "compares its sums. exact: every distinct score with its outcomes, readable in the file; "
        "calib verify computes its numbers again, to the last bit (default: %(default)s)",
    )
    certified.add_certificate(
        parser.add_argument_group("certified threshold"),
        ": the decisions then say which rows can be decided automatically",
    )
    judged = parser.add_argument_group(
        "judge",
        "With gold labels, the rows are those that a judge scored, and the report begins with "
        "their pass rate. Of the settings, only the level and the seed are used.",
    )
    judge.add_gold(
        judged,
        "gold labels of a judge's scores, matched by an id column, or by "
        "position; it may be the same file",
    )
    judge.add_own_columns(judged)
    limits = parser.add_argument_group(
        "limits", "The record of the report says whether they are met."
    )
    options.add_limits(limits)
    options.add_output(words, Report.formats, "; .zip holds the tables as CSV")
    words.add_argument(
        "--images",
        choices=("png", "svg"),
        help="also draw every chart into the .zip; needs kaleido and a Chrome or Chromium",
    )


def run(given: argparse.Namespace) -> int:
    if given.images:
        _check_images(given.output)
    words = options.words_of(given) | {
        "reviewer": given.reviewer,
        "sign_off": given.sign_off,
        "model_version": given.model_version,
        "limits": options.limits_of(given),
        "held_out_declared": given.held_out,
        "grade": given.grade,
    }
    report = _of_predictions(given, words) if given.gold is None else _of_judge(given, words)
    report = report.signed(given.sign) if given.sign else report

    def save(path: Path) -> None:
        if given.images and path.suffix.lower() == ".zip":
            from calib.reports.render.printed_files import pictures

            images = pictures(report, given.images, options.progress_of(given))
            write_whole(path, archive(table_files(report) | images))
        else:
            report.save(path)

    save_each(given.output, save)
    return 0


def _of_predictions(given: argparse.Namespace, words: Mapping[str, Any]) -> Report:
    predictions, costs = predictions_of(given), options.costs_of(given)
    analysis = analyze(
        predictions, options.settings_of(given, predictions), progress=options.progress_of(given)
    )
    if not given.parts:
        return Report.from_analysis(analysis, **words)
    time = predictions.time_name if given.time_column is None else given.time_column
    analysis = with_plan(analysis, choose_plan(predictions, analysis, time))
    parts = _parts(given, predictions, analysis, costs, time)
    return Report.from_analysis(analysis, parts=parts, **words)


def _of_judge(given: argparse.Namespace, words: Mapping[str, Any]) -> Report:
    results = judge.compared(given, given.predictions).results
    if len(results) > 1:
        names = ", ".join(map(quoted, results))
        raise ValueError(f"A report has one judge and one model, got {names}. Name one --score.")
    (result,) = results.values()
    return Report.from_judge(result, **words)


def _parts(
    given: argparse.Namespace,
    predictions: Data,
    analysis: Analysis,
    costs: Costs | None,
    time: str,
) -> Parts:
    slices = getattr(given, "slice_columns", None)  # A settings file has them.
    if slices is None:
        single = [(name,) for name in predictions.columns if name != time]
        slices = list(dict.fromkeys([*single, *predictions.crossings, *map(tuple, given.cross)]))
    return parts_of(
        predictions,
        analysis,
        slices=slices,
        n_ranges=given.n_ranges,
        time=time,
        unit=given.unit,
        costs=costs,
        error_limit=certified.error_limit(given, analysis.settings),
    )


def _check_images(paths: Sequence[Path]) -> None:
    if not any(path.suffix.lower() == ".zip" for path in paths):
        raise ValueError(f"--images needs an --output that ends in .zip, got {paths[0].name!r}.")
    if find_spec("plotly") is None:
        raise ValueError("Charts need plotly, which is not installed: pip install plotly.")
    from calib.figures.chart import missing

    if missing():
        raise ValueError(missing())
