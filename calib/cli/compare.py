"""``compare`` and ``pool``: what differs between two reports, and what several give together."""

from __future__ import annotations

import argparse
from pathlib import Path

from calib.cli.options import Commands, add_command, add_output, add_words, open_report, words_of
from calib.cli.streams import save_each
from calib.reports import Report, ReportComparison, compare_reports, pool_reports

COMPARE = """examples:
  calib compare march.json april.json
  calib compare march.json april.json -o comparison.html -o comparison.json

exit status:
  0  the reports were compared, whether or not they differ
  2  one of the files is not a report
"""
POOL = """examples:
  calib pool north.json south.json -o all.json
  calib pool north.json south.json -o march.html -o march.json --title "March"

exit status:
  0  the report of all rows together was written
  2  the reports cannot be added up; the sentence says why
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
    pool = add_command(
        commands,
        "pool",
        run_pool,
        help="add up reports of disjoint rows, and analyse the sum",
        description="Add up the counts of reports of disjoint rows, and analyse the sum. For exact "
        "reports, the numbers are those of all rows together. Settings must be the same.",
        epilog=POOL,
    )
    pool.add_argument("reports", nargs="+", type=Path, help="report.json of each part")
    add_words(pool)
    add_output(pool, Report.formats)


def run_compare(given: argparse.Namespace) -> int:
    comparison = compare_reports(open_report(given.first), open_report(given.second))
    save_each(given.output, comparison.save)
    if not given.output:
        print(comparison.markdown(), end="")
    return 0


def run_pool(given: argparse.Namespace) -> int:
    opened = {path.name: open_report(path) for path in given.reports}
    if len(opened) < len(given.reports):
        opened = {str(path): open_report(path) for path in given.reports}
    report = pool_reports(opened, **words_of(given))
    report = report.signed(given.sign) if given.sign else report
    save_each(given.output, report.save)
    return 0
