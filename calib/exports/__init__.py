"""Export of fitted calibrators as JSON, SQL, Python, JavaScript and ONNX, with test scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calib.calibrators import Calibrator, MatrixCalibrator
from calib.data.file_options import Transform
from calib.exports.condition import Condition
from calib.exports.document import MAX_DEVIATION, ExportedCalibrator, ExportError, NotExportedError
from calib.exports.file_formats import TARGETS, Run, choices_for, written
from calib.exports.from_fitted import describe
from calib.exports.score_conversion import Conversion
from calib.exports.sql import DIALECTS
from calib.exports.verified_file import Verified, checked_path, load_calibrator, verify

if TYPE_CHECKING:
    from calib.analysis import Analysis

__all__ = [
    "DIALECTS",
    "MAX_DEVIATION",
    "TARGETS",
    "Condition",
    "ExportError",
    "ExportedCalibrator",
    "NotExportedError",
    "Offer",
    "Verified",
    "describe",
    "export",
    "load_calibrator",
    "offer",
    "verify",
]

Fitted = Calibrator | MatrixCalibrator | ExportedCalibrator


def export(
    fitted: Fitted,
    path: str | Path,
    dialect: str | None = None,
    *,
    table: str = "scores",
    columns: Sequence[str] | None = None,
    analysis: Analysis | None = None,
    classes: Sequence[str] | None = None,
    transform: Transform | None = None,
    swap: bool | None = None,
    condition: Condition | None = None,
) -> Path:
    """Write a fitted calibrator to a file that gives the same numbers in another environment.

    The suffix selects the format: .json (which `load_calibrator` reads), .sql, .py, .js or .onnx.
    If an engine for the format is installed, the file is run at test scores before it is written.

    Parameters
    ----------
    fitted : Calibrator, MatrixCalibrator or ExportedCalibrator
    path : str or Path
    dialect : str, optional
        SQL dialect: duckdb (the default), postgres, sqlite, spark, databricks, bigquery, snowflake,
        redshift, trino, clickhouse, tsql or mysql.
    table : str
        Name of the table that the SQL query reads, which can have a schema and a catalog:
        ``"lake.scores"``. A part with a dot is written in double quotes.
    columns : sequence of str, optional
        Names of the score columns in SQL. Default: "score", or the names of the classes. The
        dialect decides the case of a plain name; a name in double quotes keeps its case.
    analysis : Analysis, optional
        If given, the JSON file also contains a summary of its data and the held-out metrics of
        the method.
    classes : sequence of str, optional
        Names of the classes of a matrix. Default: their indices.
    transform : str, optional
    swap : bool, optional
        How scores of the column become probabilities, as in `calib.load`. It is the first step of
        the file. Default: as the data of the analysis were read, or scores are probabilities.
    condition : Condition, optional
        The rows that the calibrator is for, as `calib.exports.Condition` describes them; others
        keep their score. For SQL, Python and JavaScript.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    ExportError
        If the file differs from the calibrator by more than 1e-12 of the probability (1e-14 near
        0) at a test score. The message names the score, and no file is written.
    ValueError
        If the suffix or the dialect is unknown, or the number of columns is wrong.

    Examples
    --------
    >>> import calib, tempfile
    >>> fitted = calib.calibrator("beta").fit([0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [0, 0, 1, 0, 1, 1])
    >>> path = export(fitted, Path(tempfile.mkdtemp()) / "map.json")
    >>> bool(load_calibrator(path).predict([0.2])[0] == fitted.predict([0.2])[0])
    True
    """
    path = checked_path(path)
    if not isinstance(fitted, Fitted):
        raise TypeError(
            "fitted must be a fitted calibrator, such as analysis.held_out.calibrators['beta'], "
            f"got {type(fitted).__name__}."
        )
    if dialect is not None and path.suffix.lower() != ".sql":
        raise ValueError(f"dialect is for files that end in .sql, got {path.name!r}.")
    file = offer(
        fitted,
        path.suffix.lower(),
        dialect,
        table=table,
        columns=columns,
        analysis=analysis,
        classes=classes,
        transform=transform,
        swap=swap,
        condition=condition,
    )
    if file.missing:
        raise ExportError(file.missing)
    path.write_bytes(file.content)
    return path


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """One format of an exported calibrator, for display and download."""

    label: str
    file_name: str
    content: bytes  # The file's content is empty if something must be installed first.
    code: str  # The text is empty for ONNX.
    run: Run
    missing: str = ""  # A sentence says what must be installed, if anything.


def offer(
    fitted: Fitted,
    suffix: str,
    dialect: str | None = None,
    *,
    name: str = "calibrator",
    table: str = "scores",
    columns: Sequence[str] | None = None,
    analysis: Analysis | None = None,
    classes: Sequence[str] | None = None,
    transform: Transform | None = None,
    swap: bool | None = None,
    condition: Condition | None = None,
) -> Offer:
    """Make one format of a calibrator for a page: code, file content, and how it was tested.

    The suffix is a key of `TARGETS`, and `name` that of the file without its suffix. The others are
    those of `export`.
    """
    if suffix not in TARGETS:
        raise ValueError(f"path must end in one of {', '.join(TARGETS)}, got {suffix!r}.")
    target = TARGETS[suffix]
    label = f"{target.label} ({dialect or 'duckdb'})" if suffix == ".sql" else target.label
    if target.missing():
        return Offer(label, name + suffix, b"", "", Run("", 0.0, here=False), target.missing())
    conversion = None
    if transform is not None or swap is not None:
        conversion = Conversion(transform or "none", bool(swap))
    exported = fitted
    if not isinstance(exported, ExportedCalibrator):
        names = tuple(classes) if classes else None
        exported = describe(exported, analysis=analysis, classes=names, conversion=conversion)
    elif conversion and not conversion.same_scores(exported.conversion):
        raise ValueError("transform and swap cannot be changed in a file that was exported.")
    listed = None if columns is None else tuple(columns)
    choices = choices_for(exported, dialect, table, listed, condition)
    content, run = written(exported, target, choices)
    code = "" if suffix == ".onnx" else content.decode()
    return Offer(label, name + suffix, content, code, run)


def __dir__() -> list[str]:
    return __all__
