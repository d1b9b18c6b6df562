"""``compare``: what differs between two reports."""

from __future__ import annotations

import argparse
from pathlib import Path

from calib.cli.options import Commands, add_command, add_output, open_report
from calib.cli.streams import save_each
from calib.reports import ReportComparison, compare_reports

COMPARE = """examples:
  calib compare march.json april.json
  calib compare march.json april.json -o comparison.html -o comparison.json

exit status:
  0  the reports were compared, whether or not they differ
  2  one of the files is not a report
"""


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "compare",
        run_compare,
        help="compare two reports (report.json)",
        description="Show what changed between two reports: data, settings, verdict, and every "
        "number under common settings. Differences are second minus first: give the "
        "earlier one first, as the page does.",
        epilog=COMPARE,
    )
    parser.add_argument("first", type=Path, help="report.json, the earlier one")
    parser.add_argument("second", type=Path, help="report.json, the later one")
    note = "; Markdown on standard output if not given"
    add_output(parser, ReportComparison.formats, note, required=False, default=[])


def run_compare(given: argparse.Namespace) -> int:
    comparison = compare_reports(open_report(given.first), open_report(given.second))
    save_each(given.output, comparison.save)
    if not given.output:
        print(comparison.markdown(), end="")
    return 0
