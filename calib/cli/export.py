"""``export``: a fitted calibrator as a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from calib.analysis import analyze
from calib.cli.options import Rows, SettingsOptions
from calib.cli.predictions import predictions_of, progress_of, settings_of
from calib.cli.streams import save_each
from calib.exports import export, load_calibrator


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
