"""``export``: a fitted calibrator as a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from calib.analysis import analyze
from calib.calibrators import CALIBRATORS
from calib.cli import options
from calib.cli.predictions import predictions_of
from calib.cli.streams import save_each
from calib.exports import DIALECTS, TARGETS, export, load_calibrator

EXAMPLES = """examples:
  calib export cal.csv --outcome y --score p --method spline -o map.json
  calib export cal.csv --outcome y --score p --method beta -o map.sql --dialect bigquery
  calib export map.json -o map.sql --dialect snowflake --table scored --column p

exit status:
  0  the files were written and give the calibrator's numbers
  2  the input cannot be used, or a file gave another value at a test score
"""


def add(commands: options.Commands) -> None:
    parser = options.add_command(
        commands,
        "export",
        run,
        help="write a fitted calibrator as JSON, SQL, Python, JavaScript or ONNX",
        description="Fit a calibrator and write it to files that give the same numbers elsewhere. "
        "The paths of the written files are printed, one per line.",
        epilog=EXAMPLES,
    )
    options.add_data(parser)
    options.add_settings(parser, leave_out=("methods",))
    made = parser.add_argument_group("export")
    made.add_argument(
        "--method",
        choices=CALIBRATORS,
        metavar="KEY",
        help=f"the calibrator: {', '.join(CALIBRATORS)} (default: the recommended one)",
    )
    made.add_argument("--dialect", choices=DIALECTS, help="SQL dialect (default: duckdb)")
    made.add_argument("--table", default="scores", help=f"{options.TABLE} (default: %(default)s)")
    made.add_argument(
        "--column",
        action="append",
        help="column of the score in the query; once per class for a matrix (default: score, or "
        "the names of the classes)",
    )
    options.add_output(made, TARGETS)


def run(given: argparse.Namespace) -> int:
    arguments: dict[str, Any] = {"table": given.table, "columns": given.column}
    if Path(given.predictions).suffix.lower() == ".json":
        fitted: Any = load_calibrator(given.predictions)
    else:
        predictions = predictions_of(given)
        fixed = {} if given.method is None else {"methods": (given.method,)}
        settings = options.settings_of(given, predictions, **fixed)
        analysis = analyze(predictions, settings, progress=options.progress_of(given))
        method = given.method or (analysis.recommendation.method or "uncalibrated")
        fitted = analysis.held_out.calibrators.get(method)
        if fitted is None:
            raise ValueError(" ".join(analysis.warnings))
        classes = getattr(fitted, "n_classes_", None) and predictions.class_names
        arguments |= {"analysis": analysis, "classes": classes}

    def save(path: Path) -> None:
        dialect = given.dialect if path.suffix.lower() == ".sql" else None
        export(fitted, path, dialect, **arguments)

    save_each(given.output, save)
    return 0
