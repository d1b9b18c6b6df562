"""Options that commands share: each is a field of a dataclass. What is slow to import is not here.

A field without `Words` is no option; a settings file sets it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from calib.cli.parameters import Words
from calib.data.file_options import Decimal, FileFormat, LoadOptions

TABLE = (
    "table of the query, with its schema, such as lake.scores; a part of the name that contains a "
    "dot is written in double quotes"
)
COLUMN, NUMBER, FILE, TEXT, LABEL, NAME = "COLUMN", "NUMBER", "FILE", "TEXT", "LABEL", "NAME"


def output(meaning: str) -> Words:
    return Words(f"file to write, {meaning}.", FILE, many=True, flags=("-o", "--output"))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _share(text: str) -> float:
    value = _number(text)
    if not 0.0 < value < 1.0:
        raise ValueError(f"must be a share between 0 and 1, got {text!r}.")
    return value


def _min_share(text: str) -> float:
    value = _number(text)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"must be a share between 0 and 1, got {text!r}.")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _bound(argument: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        from calib.analysis.limits import LIMITS

        limit = next(limit for limit in LIMITS if limit.argument == argument)
        value = _number(text)
        if not limit.allows(value):
            raise ValueError(f"must be a number of {limit.allowed}, got {text!r}.")
        return value

    return read


def methods() -> Iterable[str]:
    """The keys of the calibrators."""
    from calib.calibrators import CALIBRATORS

    return CALIBRATORS


def dialects() -> Iterable[str]:
    """The dialects of exported calibrators."""
    from calib.exports import DIALECTS

    return DIALECTS


@dataclass(frozen=True, kw_only=True)
class Rows(LoadOptions):
    """Data. What is not named is guessed, as in calib.load."""

    predictions: Annotated[
        str,
        Words(
            "CSV, TSV, JSON Lines, Parquet, Arrow, NumPy (.npz), or an evaluation log; or - for "
            "standard input; or a built-in example, as example:KEY",
            metavar="FILE",
            positional=True,
        ),
    ]
    more_files: Annotated[
        Sequence[str],
        Words(
            "further counts, which are added up; or further evaluation logs, which become slices "
            "by task and model",
            metavar="FILE",
            many=True,
            positional=True,
        ),
    ] = ()
    sample: Annotated[
        int | None,
        Words(
            "draw so many rows at random, 100 to 1,000,000: for rows that do not fit in memory, of "
            "a file, folder, glob or DuckDB database. All results are those of the sample.",
            NUMBER,
        ),
    ] = None
    sample_key: Annotated[
        str | None, Words("column that identifies each row, by which rows are drawn", COLUMN)
    ] = None
    sample_seed: Annotated[
        int | None, Words("another seed draws other rows (default: 0)", NUMBER)
    ] = None
    sample_table: Annotated[
        str | None, Words("table of a DuckDB database from which they are drawn", NAME)
    ] = None
    # At a terminal, progress is shown without this option.
    progress: Annotated[bool, Words("report progress on standard error")] = False

    def load_arguments(self) -> dict[str, Any]:
        """What was given for the rows, as arguments of `calib.load`."""
        return arguments_of(self, LoadOptions)


@dataclass(frozen=True, kw_only=True)
class SettingsOptions:
    """Settings."""

    settings: Annotated[
        Path | None,
        Words(
            "settings.json of a report, or its report.json: columns and settings are those of this "
            "report; options beside it win",
            FILE,
        ),
    ] = None
    view: Annotated[
        str | None,
        Words(
            "binary view: class:k, top:r or within:r (default: class:1 for one score, top:1 for a "
            "matrix)",
            TEXT,
        ),
    ] = None
    methods: Annotated[
        tuple[str, ...] | None,
        Words("calibrators to compare, as keys separated by commas", "KEYS", convert=_listed),
    ] = None
    metrics: Annotated[
        tuple[str, ...] | None,
        Words("metrics to add to the table, as keys separated by commas", "KEYS", convert=_listed),
    ] = None
    strategy: Annotated[
        Literal["quantile", "uniform"] | None,
        Words("how the rows are binned: equal counts per bin (the default), or equal widths"),
    ] = None
    n_bins: Annotated[int | None, Words("number of bins (default: 15)", NUMBER)] = None
    epsilon: Annotated[
        float | None, Words("epsilon of the compact logit; automatic if not given", NUMBER)
    ] = None
    n_folds: Annotated[
        int | None,
        Words(
            "number of cross-fitting folds, if neither test rows nor folds are given (default: 5)",
            NUMBER,
        ),
    ] = None
    seed: Annotated[int | None, Words("seed of folds and resamples (default: 0)", NUMBER)] = None
    confidence_level: Annotated[
        float | None, Words("confidence level of intervals and bands (default: 0.95)", NUMBER)
    ] = None
    band: Annotated[
        Literal["per_bin", "simultaneous"] | None,
        Words(
            "whether the consistency band has this level for each bin (the default) or for all "
            "bins together"
        ),
    ] = None
    epsilon_rule: Annotated[
        Literal["symmetric", "published"] | None,
        Words(
            "rule of the automatic epsilon of spline and stack: symmetric (the default), or as "
            "published (Lucena 2018)"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class PartsOptions:
    """Slices, time and decisions.

    The report includes every slice column and the time column. Decisions are included if costs or
    a capacity are given.
    """

    cross: Annotated[
        Sequence[tuple[str, str]],
        Words("two columns to slice by together.", "COLUMN COLUMN", many=True),
    ] = ()
    time_column: Annotated[
        str | None,
        Words(
            "column that defines the periods, one of the columns read (default: that of --time)",
            COLUMN,
        ),
    ] = None
    n_ranges: Annotated[
        int, Words("number of ranges that a numeric column is cut into", NUMBER)
    ] = 5
    unit: Annotated[
        Literal["day", "week", "month", "quarter", "year"] | None, Words("length of a period")
    ] = None
    cost_fp: Annotated[float | None, Words("cost of a false positive (default: 1)", NUMBER)] = None
    cost_fn: Annotated[float | None, Words("cost of a false negative (default: 1)", NUMBER)] = None
    capacity: Annotated[
        float | None,
        Words("share of rows that can be flagged, instead of a threshold by costs", NUMBER),
    ] = None
    parts: Annotated[bool, Words("leave out slices, time and decisions")] = True
    slice_columns: Sequence[tuple[str, ...]] | None = None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits."""

    max_ks: Annotated[float | None, Words("maximum KS error", NUMBER, convert=_bound("max_ks"))] = (
        None
    )
    max_ece: Annotated[
        float | None,
        Words(
            "maximum expected calibration error, with the bins of the settings",
            NUMBER,
            convert=_bound("max_ece"),
        ),
    ] = None
    max_log_loss: Annotated[
        float | None,
        Words("maximum log loss of the view", NUMBER, convert=_bound("max_log_loss")),
    ] = None
    min_p: Annotated[
        float | None,
        Words("minimum p-value of the KS test alone", NUMBER, convert=_bound("min_p")),
    ] = None

    def bounds(self) -> dict[str, float]:
        """The limits that were set, by the names of their arguments."""
        values = {one.name: getattr(self, one.name) for one in fields(Limits)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class CertificateOptions:
    """Certified threshold. The decisions then say which rows can be decided automatically."""

    certify_error: Annotated[
        float | None,
        Words(
            "highest error rate of rows decided automatically, such as 0.05",
            "RATE",
            convert=_share,
        ),
    ] = None
    certify_confidence: Annotated[
        float | None,
        Words(
            "probability that the certificate is right (default: the level of the settings)",
            NUMBER,
            convert=_share,
        ),
    ] = None
    certify_sides: Annotated[
        Literal["above", "both"],
        Words("accept rows above a threshold, or also reject rows below another"),
    ] = "above"


@dataclass(frozen=True, kw_only=True)
class CheckedLimits(CertificateOptions, Limits):
    """Limits.

    At least one must be given. A maximum is exceeded if the interval of the value lies above it.
    """

    strict_point: Annotated[
        bool, Words("a maximum is exceeded if the value itself is above it")
    ] = False
    against: Annotated[
        Path | None,
        Words(
            "report.json of earlier, independent rows: fail if log loss or KS error is "
            "significantly worse than in it",
            FILE,
        ),
    ] = None
    min_share: Annotated[
        float | None,
        Words(
            "minimum share of rows that --certify-error certifies (default: any)",
            "SHARE",
            convert=_min_share,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ReportWords:
    """Report."""

    title: Annotated[str, Words("title of the report", TEXT)] = ""
    author: Annotated[str, Words("author of the report", TEXT)] = ""
    note: Annotated[str, Words("note of the report", TEXT)] = ""
    reviewer: Annotated[str, Words("who reviewed the report", TEXT)] = ""
    model_version: Annotated[str, Words("the model and its version", TEXT)] = ""
    sign_off: Annotated[
        str,
        Words("who signed the report off, and when. A settings file never contains it", TEXT),
    ] = ""
    held_out: Annotated[
        Literal["unknown", "yes", "no"],
        Words("whether these are held-out predictions (the model was not trained on these rows)"),
    ] = "unknown"
    grade: Annotated[
        Literal["guarded", "exact"],
        Words(
            "counts in the report. guarded: cells of at least ten rows, for charts; calib verify "
            "compares its sums. exact: every distinct score with its outcomes, readable in the "
            "file; calib verify computes its numbers again, to the last bit"
        ),
    ] = "guarded"

    def arguments(self) -> dict[str, Any]:
        """The arguments of `Report.from_analysis`."""
        words = {one.name: getattr(self, one.name) for one in fields(self)}
        return words | {"held_out_declared": words.pop("held_out")}


GOLD = (
    "gold labels, matched by an id column, or by position; if not given, a column of the judged "
    "rows that is blank for rows without a label"
)


@dataclass(frozen=True, kw_only=True)
class JudgeRows:
    """Judge. With gold labels, the rows are those that a judge scored."""

    gold: Annotated[str | None, Words(GOLD, FILE)] = None
    row_id: Annotated[
        str | None,
        Words(
            "column that identifies each row, in both files; without one the files must have the "
            "same rows in the same order",
            COLUMN,
        ),
    ] = None
    scale: Annotated[
        tuple[float, float],
        Words("lowest and highest possible score, such as 1 and 5", "LOW HIGH"),
    ] = (0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class JudgeLimits(JudgeRows):
    """Limits of a judge.

    With them, the rows are those that a judge scored. Other limits and settings are not used.
    """

    min_kappa: Annotated[float | None, Words("minimum kappa of judge and gold labels", NUMBER)] = (
        None
    )
    max_width: Annotated[
        float | None,
        Words("maximum width of the interval of the pass rate, such as 0.1", NUMBER),
    ] = None


@dataclass(frozen=True, kw_only=True)
class JudgeColumns:
    """Columns. What is not given is guessed."""

    score: Annotated[
        Sequence[str] | None,
        Words(
            "column of the judge's score, or of its answer such as pass and fail; several columns "
            "are several judges.",
            COLUMN,
            many=True,
        ),
    ] = None
    outcome: Annotated[str | None, Words("column of the gold labels", COLUMN)] = None
    model: Annotated[
        str | None, Words("column that names the model that answered each row", COLUMN)
    ] = None
    group: Annotated[
        str | None,
        Words(
            "column of cluster IDs, if rows are not independent: samples of one question", COLUMN
        ),
    ] = None
    positive: Annotated[
        Sequence[str] | None,
        Words(
            "the label that passes, if it is not a word such as pass, yes or 1.", LABEL, many=True
        ),
    ] = None
    negative: Annotated[
        Sequence[str] | None,
        Words("the label that fails, if there are more than two.", LABEL, many=True),
    ] = None
    others_negative: Annotated[
        bool,
        Words("count all labels that are not positive as negative (one against the rest)"),
    ] = False
    decimal: Annotated[
        Decimal | None,
        Words(
            "decimal mark of numbers in text; it is required if cells such as 1,234 are ambiguous"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class TextFormat(FileFormat):
    """File."""


@dataclass(frozen=True, kw_only=True)
class MonitorColumns:
    """Columns.

    Needed for the first file of a monitor; later ones are read in the same way.
    """

    outcome: Annotated[
        str | None, Words("column of the labels; empty where none arrived yet", COLUMN)
    ] = None
    score: Annotated[str | None, Words("column of the scores of the positive class", COLUMN)] = None
    time: Annotated[str | None, Words("column of the time of the prediction", COLUMN)] = None
    slices: Annotated[Sequence[str] | None, Words("column of slices.", COLUMN, many=True)] = None
    arrived: Annotated[
        str | None,
        Words(
            "column of the time when the outcome arrived; outcomes that arrived later than the "
            "horizon count as late",
            COLUMN,
        ),
    ] = None
    group: Annotated[
        str | None,
        Words(
            "column of clusters: rows of one cluster are not independent, and such rows are "
            "refused",
            COLUMN,
        ),
    ] = None
    positive: Annotated[str | None, Words("the label of positive rows", LABEL)] = None
    negative: Annotated[str | None, Words("the label of negative rows", LABEL)] = None


def changed(options: Any) -> dict[str, Any]:
    """The options that differ from their defaults."""
    values = {one.name: (getattr(options, one.name), one.default) for one in fields(options)}
    return {name: value for name, (value, default) in values.items() if value != default}


def arguments_of(options: Any, kind: type[Any]) -> dict[str, Any]:
    """The options that a person gave and that are fields of a dataclass of the library."""
    names = {one.name for one in fields(kind)}
    arguments = {name: value for name, value in changed(options).items() if name in names}
    # A single column is the score of a binary model, not a matrix of one class.
    if isinstance(arguments.get("score"), list) and len(arguments["score"]) == 1:
        (arguments["score"],) = arguments["score"]
    return arguments


def check_outputs(paths: Iterable[Path], formats: Iterable[str]) -> None:
    """Refuse before the analysis what could not be written after it."""
    for path in paths:
        suffix, allowed = path.suffix.lower(), ", ".join(formats)
        if suffix not in formats:
            raise ValueError(f"--output must end in one of {allowed}, got {path.name!r}.")
        if not path.parent.is_dir():
            raise ValueError(f"--output must lie in a folder that exists, got {str(path)!r}.")
        if suffix in (".html", ".md") and find_spec("plotly") is None:
            raise ValueError(
                "HTML and Markdown need plotly, which is not installed: pip install plotly, or "
                f"choose .json, got {path.name!r}."
            )
