"""``verify``: whether a report, or an exported calibrator, gives the numbers that it says."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from calib.cli.options import Commands, add_command
from calib.exports import TARGETS, ExportError, verify
from calib.reports.verifying import NotVerified, verify_report

EXAMPLES = """examples:
  calib verify report.json
  calib verify report.json --signed-by key.pub
  calib verify map.sql

exit status:
  0  the file gives the numbers that it says
  1  it does not, or was changed, or another key signed: the first number that differs is named
  2  it is neither a report nor an exported calibrator
"""


def add_verify(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "verify",
        run,
        help="recompute a report, or run an exported calibrator at its test scores",
        description="Recompute every number, band and verdict of a report from the counts that it "
        "carries, or run an exported calibrator at the test scores that it carries. One line on "
        "standard output says what was found; what cannot be recomputed goes to standard error.",
        epilog=EXAMPLES,
    )
    parser.add_argument(
        "file", type=Path, help=f"report.json, or a file that ends in {', '.join(TARGETS)}"
    )
    parser.add_argument(
        "--signed-by",
        metavar="KEY",
        type=Path,
        help="public Ed25519 key that must have signed the report, in PEM or OpenSSH's form",
    )


def run(given: argparse.Namespace) -> int:
    """Print what was found; 0 where the numbers are right, else 1."""
    try:
        if _is_report(given.file):
            found = verify_report(given.file, signed_by=given.signed_by)
            for sentence in found.not_recomputed:
                print(f"calib: not recomputed: {sentence}", file=sys.stderr)
            print(found.sentence)
        elif given.signed_by:
            raise ValueError("--signed-by is for reports; exported calibrators have no signature.")
        else:
            print(verify(given.file).sentence)
    except (ExportError, NotVerified) as error:
        print(f"fail: {error}")
        return 1
    return 0


def _is_report(path: Path) -> bool:
    """Whether a file looks like a report: an exported calibrator has a form instead."""
    if path.suffix.lower() != ".json":
        return False
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False  # what is wrong with it, the reader of exports says
    return isinstance(data, dict) and "analysis" in data
