"""``verify``: whether the numbers of a report or an exported calibrator can be reproduced."""

from __future__ import annotations

import argparse
import json
from collections.abc import Set
from pathlib import Path

from calib.cli.options import STANDARD_INPUT, Commands, add_command
from calib.cli.streams import tell
from calib.exports import TARGETS, ExportError, NotExportedError, Verified, verify
from calib.reports.verify import NotVerified, VerifiedReport, verify_report

EXAMPLES = """examples:
  calib verify report.json
  calib verify report.json --signed-by key.pub
  calib verify map.sql
  calib verify map.sql --source map.json

A guarded report is "consistent": its sums agree, and the counts of its scores are not in it. All
other results are "pass" or "fail".

exit status:
  0  all numbers were reproduced, or are consistent
  1  a number differs (the first one is named), the file was changed, or another key signed it
  2  the file is neither a report nor an exported calibrator
"""


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "verify",
        run,
        help="recompute a report, or write an exported calibrator again and compare",
        description="Check the seal of a report.json, and compute the numbers of an exact one "
        "again from its counts. Or write an exported calibrator again, compare the two texts, and "
        "run the text at test scores if they are equal. One line on standard output gives the "
        "result; standard error lists what is not verified.",
        epilog=EXAMPLES,
    )
    parser.add_argument(
        "file",
        type=Path,
        help=f"report.json, or - for standard input, or a file that ends in {', '.join(TARGETS)}",
    )
    parser.add_argument(
        "--signed-by",
        metavar="KEY",
        type=Path,
        help="public Ed25519 key that must have signed the report, in PEM or OpenSSH's form",
    )
    parser.add_argument(
        "--source",
        metavar="JSON",
        type=Path,
        help="JSON file of the same calibrator; needed where a file has no formula as data, "
        "such as that of a spline (default: the file of the same name that ends in .json)",
    )


# A comparison has these entries, and no counts.
COMPARISON = {"first", "second", "same_rows"}
RENDERED = (".html", ".htm", ".md", ".zip")


def run(given: argparse.Namespace) -> int:
    if given.file.name == STANDARD_INPUT:
        raise ValueError(
            "Standard input must be a report, or a calibrator as JSON. Give other exported "
            "calibrators as files, whose ending says what they are."
        )
    try:
        if given.file.suffix.lower() in RENDERED:
            raise ValueError(
                f"A report is verified as JSON, got {given.file.name}. Give the report.json that "
                "was saved with it."
            )
        entries = _entries(given.file)
        if entries >= COMPARISON:
            raise ValueError(
                f"{given.file.name} is a comparison of two reports, which has no counts: verify "
                "the report.json of each."
            )
        if "analysis" in entries:
            verified: Verified | VerifiedReport = verify_report(
                given.file, signed_by=given.signed_by
            )
        elif given.signed_by:
            raise ValueError("--signed-by is for reports; leave it out for exported calibrators.")
        else:
            verified = verify(given.file, given.source)
        for sentence in verified.not_verified:
            tell(f"calib: not verified: {sentence}")
        print(verified.sentence)
    except NotExportedError:
        raise
    except (ExportError, NotVerified) as error:
        print(f"fail: {error}")
        return 1
    return 0


def _entries(path: Path) -> Set[str]:
    """The names of the entries of a JSON file. A report has an analysis, a calibrator a form."""
    if path.suffix.lower() != ".json":
        return set()
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return set()  # The reader of exported calibrators describes the error.
    return data.keys() if isinstance(data, dict) else set()
