"""``pool``: one report of several sites or days, from the counts that their reports contain."""

from __future__ import annotations

import argparse
from pathlib import Path

from calib.cli.options import Commands, add_command, add_output, add_words, open_report, words_of
from calib.reports.pooling import pool_reports
from calib.reports.report import FORMATS

EXAMPLES = """examples:
  calib pool north.json south.json -o all.json
  calib pool north.json south.json -o march.html -o march.json --title "March"

exit status:
  0  the report of all rows together was written
  2  the reports cannot be added up; the sentence says why
"""


def add_pool(commands: Commands) -> None:
    parser = add_command(
        commands,
        "pool",
        run,
        help="add up reports of disjoint rows, and analyse the sum",
        description="Add up the counts of reports of disjoint rows, and analyse the sum. For exact "
        "reports, the numbers are those of all rows together. Settings must be the same.",
        epilog=EXAMPLES,
    )
    parser.add_argument("reports", nargs="+", type=Path, help="report.json of each part")
    add_words(parser)
    add_output(
        parser,
        FORMATS,
        "file to write, ending in .html, .json, .md or .zip; may be repeated",
        required=True,
    )


def run(given: argparse.Namespace) -> int:
    opened = {path.name: open_report(path) for path in given.reports}
    if len(opened) < len(given.reports):
        opened = {str(path): open_report(path) for path in given.reports}
    report = pool_reports(opened, **words_of(given))
    report = report.signed(given.sign) if given.sign else report
    for path in given.output:
        report.save(path)
        print(path)
    return 0
