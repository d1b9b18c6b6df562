"""``compare``: what differs between two reports."""

from __future__ import annotations

import argparse
from pathlib import Path

from calib.cli.options import Commands, add_command, add_output, open_report
from calib.reports import compare_reports
from calib.reports.comparing import FORMATS

EXAMPLES = """examples:
  calib compare march.json april.json
  calib compare march.json april.json -o comparison.html -o comparison.json

exit status:
  0  the reports were compared, whether or not they differ
  2  one of the files is not a report
"""


def add_compare(commands: Commands) -> None:
    parser = add_command(
        commands,
        "compare",
        run,
        help="compare two reports (report.json)",
        description="Show what changed between two reports: data, settings, verdict, and every "
        "number under common settings. Differences are second minus first: give the "
        "earlier one first, as the page does.",
        epilog=EXAMPLES,
    )
    parser.add_argument("first", type=Path, help="report.json, the earlier one")
    parser.add_argument("second", type=Path, help="report.json, the later one")
    add_output(
        parser,
        FORMATS,
        "file to write, ending in .html, .json or .md; may be repeated; Markdown on standard "
        "output if not given",
        default=[],
    )


def run(given: argparse.Namespace) -> int:
    comparison = compare_reports(open_report(given.first), open_report(given.second))
    for path in given.output:
        comparison.save(path)
        print(path)
    if not given.output:
        print(comparison.markdown(), end="")
    return 0
