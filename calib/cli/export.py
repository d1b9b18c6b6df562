"""``export`` and ``verify``: a fitted calibrator as a file, and whether a file is right."""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Any

from calib.analysis import analyze
from calib.cli.options import Rows, SettingsOptions
from calib.cli.predictions import predictions_of, progress_of, settings_of
from calib.cli.streams import STANDARD_INPUT, save_each, tell
from calib.exports import ExportError, NotExportedError, Verified, export, load_calibrator, verify
from calib.reports.verify import NotVerified, VerifiedReport, verify_report


def fitted_calibrator(
    rows: Rows, settings: SettingsOptions, method: str | None
) -> tuple[Any, dict[str, Any]]:
    """The calibrator of a file, or one fitted on rows, with what `export` says about it."""
    if Path(rows.predictions).suffix.lower() == ".json":
        return load_calibrator(rows.predictions), {}
    predictions = predictions_of(rows)
    fixed = {} if method is None else {"methods": (method,)}
    chosen = settings_of(settings, predictions, **fixed)
    analysis = analyze(predictions, chosen, progress=progress_of(rows))
    method = method or (analysis.recommendation.method or "uncalibrated")
    fitted = analysis.held_out.calibrators.get(method)
    if fitted is None:
        raise ValueError(" ".join(analysis.warnings))
    classes = getattr(fitted, "n_classes_", None) and predictions.class_names
    return fitted, {"analysis": analysis, "classes": classes}


def save(fitted: Any, paths: Iterable[Path], dialect: str | None, arguments: Any) -> int:
    """Write the files. Only SQL has a dialect."""

    def save_one(path: Path) -> None:
        export(fitted, path, dialect if path.suffix.lower() == ".sql" else None, **arguments)

    save_each(paths, save_one)
    return 0


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
