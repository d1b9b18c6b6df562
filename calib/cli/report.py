"""``report``: from a file of predictions to files of a report."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

from calib.analysis import analyze
from calib.cli.data import predictions_of, progress_of
from calib.cli.options import add_data, add_progress, add_settings, settings_of
from calib.reports import Report
from calib.reports.document import Declared

SUFFIXES = (".html", ".json", ".md")
EXAMPLES = """examples:
  python -m calib report predictions.parquet --outcome y --score p -o report.html
  python -m calib report cal.csv --test test.csv --outcome y --score p --methods platt,spline \\
      --title "Churn, March" --author Ada -o report.html -o report.json
  python -m calib report scores.csv --outcome y --score p --transform percent --bins 20 -o report.md
"""


def add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "report",
        help="write a report as HTML, JSON or Markdown",
        description="Analyse predictions and write a report. The paths of what was written go to "
        "standard output, one a line.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_data(parser)
    add_settings(parser)
    words = parser.add_argument_group("report")
    for name in ("title", "author", "note"):
        words.add_argument(f"--{name}", metavar="TEXT", default="", help=f"{name} of the report")
    words.add_argument(
        "--held-out",
        choices=get_args(Declared),
        default="unknown",
        help="whether the model was not trained on these rows, as its author says",
    )
    words.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        required=True,
        type=Path,
        help="file to write, ending in .html, .json or .md; may be repeated",
    )
    add_progress(parser)
    parser.set_defaults(run=run, junit=None)


def run(given: argparse.Namespace) -> int:
    """Write the report; 0."""
    for path in given.output:
        _check_output(path)
    settings = settings_of(given)
    analysis = analyze(predictions_of(given), settings, progress=progress_of(given))
    report = Report.from_analysis(
        analysis,
        title=given.title,
        author=given.author,
        note=given.note,
        held_out_declared=given.held_out,
    )
    for path in given.output:
        report.save(path)
        print(path)
    return 0


def _check_output(path: Path) -> None:
    """Refuse before the work what could not be written after it."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"--output must end in one of {', '.join(SUFFIXES)}, got {path.name!r}.")
    if not path.parent.is_dir():
        raise ValueError(f"--output must lie in a folder that exists, got {str(path)!r}.")
    if path.suffix.lower() == ".html" and find_spec("plotly") is None:
        raise ValueError(
            "A report in HTML is drawn by plotly, which is not installed: "
            f"pip install plotly, or choose .json or .md, got {path.name!r}."
        )
