"""``verify``: whether the numbers of a report or an exported calibrator can be reproduced."""

from __future__ import annotations

import json
from collections.abc import Set
from pathlib import Path

from calib.cli.streams import STANDARD_INPUT, tell
from calib.exports import ExportError, NotExportedError, Verified, verify
from calib.reports.verify import NotVerified, VerifiedReport, verify_report

# A comparison has these entries, and no counts.
COMPARISON = {"first", "second", "same_rows"}
RENDERED = (".html", ".htm", ".md", ".zip")


def verify_file(file: Path, signed_by: Path | None, source: Path | None) -> int:
    """Verify a report or an exported calibrator, and print the result."""
    if file.name == STANDARD_INPUT:
        raise ValueError(
            "Standard input must be a report, or a calibrator as JSON. Give other exported "
            "calibrators as files, whose ending says what they are."
        )
    try:
        if file.suffix.lower() in RENDERED:
            raise ValueError(
                f"A report is verified as JSON, got {file.name}. Give the report.json that "
                "was saved with it."
            )
        entries = _entries(file)
        if entries >= COMPARISON:
            raise ValueError(
                f"{file.name} is a comparison of two reports, which has no counts: verify "
                "the report.json of each."
            )
        if "analysis" in entries:
            verified: Verified | VerifiedReport = verify_report(file, signed_by=signed_by)
        elif signed_by:
            raise ValueError("--signed-by is for reports; leave it out for exported calibrators.")
        else:
            verified = verify(file, source)
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
