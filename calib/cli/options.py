"""Options that commands share: each is a field of a dataclass. What is slow to import is not here.

A field that no docstring describes is no option; a settings file sets it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from calib.cli.parameters import Words
from calib.data.file_options import LoadOptions


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
        from calib.analysis.summary import LIMITS

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


Output = Annotated[list[Path], Words(flags=("-o", "--output"))]
Keys = Annotated[tuple[str, ...], Words(convert=_listed)]
Share = Annotated[float, Words(convert=_share)]
MinShare = Annotated[float, Words(convert=_min_share)]
Method = Annotated[str, Words(choices=methods)]
Dialect = Annotated[str, Words(choices=dialects)]


@dataclass(frozen=True, kw_only=True)
class Rows(LoadOptions):
    """Data. What is not named is guessed, as in calib.load.

    predictions FILE: CSV, TSV, JSON Lines, Parquet, Arrow, NumPy (.npz), or an evaluation log; or -
        for standard input; or a built-in example, as example:KEY
    more_files FILE: further counts, which are added up; or further evaluation logs, which become
        slices by task and model
    sample: draw so many rows at random, 100 to 1,000,000: for rows that do not fit in memory, of a
        file, folder, glob or DuckDB database. All results are those of the sample.
    sample_key COLUMN: column that identifies each row, by which rows are drawn
    sample_seed: another seed draws other rows (default: 0)
    sample_table NAME: table of a DuckDB database from which they are drawn
    progress: report progress on standard error
    """

    predictions: Annotated[str, Words(positional=True)]
    more_files: Annotated[Sequence[str], Words(positional=True)] = ()
    sample: int | None = None
    sample_key: str | None = None
    sample_seed: int | None = None
    sample_table: str | None = None
    # At a terminal, progress is shown without this option.
    progress: bool = False

    def load_arguments(self) -> dict[str, Any]:
        """What was given for the rows, as arguments of `calib.load`."""
        return arguments_of(self, LoadOptions)


@dataclass(frozen=True, kw_only=True)
class SettingsOptions:
    """Settings.

    settings: settings.json of a report, or its report.json: columns and settings are those of this
        report; options beside it win
    view: binary view: class:k, top:r or within:r (default: class:1 for one score, top:1 for a
        matrix)
    methods KEYS: calibrators to compare, as keys separated by commas
    metrics KEYS: metrics to add to the table, as keys separated by commas
    strategy: how the rows are binned: equal counts per bin (the default), or equal widths
    n_bins: number of bins (default: 15)
    epsilon: epsilon of the compact logit; automatic if not given
    n_folds: number of cross-fitting folds, if neither test rows nor folds are given (default: 5)
    seed: seed of folds and resamples (default: 0)
    confidence_level: confidence level of intervals and bands (default: 0.95)
    band: whether the consistency band has this level for each bin (the default) or for all bins
        together
    epsilon_rule: rule of the automatic epsilon of spline and stack: symmetric (the default), or as
        published (Lucena 2018)
    """

    settings: Path | None = None
    view: str | None = None
    methods: Keys | None = None
    metrics: Keys | None = None
    strategy: Literal["quantile", "uniform"] | None = None
    n_bins: int | None = None
    epsilon: float | None = None
    n_folds: int | None = None
    seed: int | None = None
    confidence_level: float | None = None
    band: Literal["per_bin", "simultaneous"] | None = None
    epsilon_rule: Literal["symmetric", "published"] | None = None


@dataclass(frozen=True, kw_only=True)
class PartsOptions:
    """Slices, time and decisions.

    The report includes every slice column and the time column. Decisions are included if costs or
    a capacity are given.

    cross COLUMN COLUMN: two columns to slice by together
    time_column COLUMN: column that defines the periods, one of the columns read (default: that of
        --time)
    n_ranges: number of ranges that a numeric column is cut into
    unit: length of a period
    cost_fp: cost of a false positive (default: 1)
    cost_fn: cost of a false negative (default: 1)
    capacity: share of rows that can be flagged, instead of a threshold by costs
    parts: leave out slices, time and decisions
    """

    cross: Sequence[tuple[str, str]] = ()
    time_column: str | None = None
    n_ranges: int = 5
    unit: Literal["day", "week", "month", "quarter", "year"] | None = None
    cost_fp: float | None = None
    cost_fn: float | None = None
    capacity: float | None = None
    parts: bool = True
    slice_columns: Sequence[tuple[str, ...]] | None = None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits.

    max_ks: maximum KS error
    max_ece: maximum expected calibration error, with the bins of the settings
    max_log_loss: maximum log loss of the view
    min_p: minimum p-value of the KS test alone
    """

    max_ks: Annotated[float | None, Words(convert=_bound("max_ks"))] = None
    max_ece: Annotated[float | None, Words(convert=_bound("max_ece"))] = None
    max_log_loss: Annotated[float | None, Words(convert=_bound("max_log_loss"))] = None
    min_p: Annotated[float | None, Words(convert=_bound("min_p"))] = None

    def bounds(self) -> dict[str, float]:
        """The limits that were set, by the names of their arguments."""
        values = {one.name: getattr(self, one.name) for one in fields(Limits)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class CertificateOptions:
    """Certified threshold. The decisions then say which rows can be decided automatically.

    certify_error RATE: highest error rate of rows decided automatically, such as 0.05
    certify_confidence: probability that the certificate is right (default: the level of the
        settings)
    certify_sides: accept rows above a threshold, or also reject rows below another
    """

    certify_error: Share | None = None
    certify_confidence: Share | None = None
    certify_sides: Literal["above", "both"] = "above"


@dataclass(frozen=True, kw_only=True)
class CheckedLimits(CertificateOptions, Limits):
    """Limits.

    At least one must be given. A maximum is exceeded if the interval of the value lies above it.

    strict_point: a maximum is exceeded if the value itself is above it
    against: report.json of earlier, independent rows: fail if log loss or KS error is significantly
        worse than in it
    min_share SHARE: minimum share of rows that --certify-error certifies (default: any)
    """

    strict_point: bool = False
    against: Path | None = None
    min_share: MinShare | None = None


@dataclass(frozen=True, kw_only=True)
class ReportWords:
    """Report.

    title: title of the report
    author: author of the report
    note: note of the report
    reviewer: who reviewed the report
    model_version: the model and its version
    sign_off: who signed the report off, and when. A settings file never contains it
    held_out: whether these are held-out predictions (the model was not trained on these rows)
    grade: counts in the report. guarded: cells of at least ten rows, for charts; calib verify
        compares its sums. exact: every distinct score with its outcomes, readable in the file;
        calib verify computes its numbers again, to the last bit
    template: print under the items of a checklist: clinical, credit, ai-act, plain, or a file of
        your own (.toml, .json)
    answers FILE: texts for the fields of the template, by their keys (.toml, .json)
    """

    title: str = ""
    author: str = ""
    note: str = ""
    reviewer: str = ""
    model_version: str = ""
    sign_off: str = ""
    held_out: Literal["unknown", "yes", "no"] = "unknown"
    grade: Literal["guarded", "exact"] = "guarded"
    template: str = ""
    answers: Path | None = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of `Report.from_analysis`."""
        from calib.reports import checklist

        words = {one.name: getattr(self, one.name) for one in fields(self)}
        chosen = checklist(words.pop("template"), words.pop("answers"))
        return words | {"held_out_declared": words.pop("held_out"), "checklist": chosen}


@dataclass(frozen=True, kw_only=True)
class JudgeRows:
    """Judge. With gold labels, the rows are those that a judge scored.

    gold FILE: gold labels, matched by an id column, or by position; if not given, a column of the
        judged rows that is blank for rows without a label
    row_id COLUMN: column that identifies each row, in both files; without one the files must have
        the same rows in the same order
    scale LOW HIGH: lowest and highest possible score, such as 1 and 5
    """

    gold: str | None = None
    row_id: str | None = None
    scale: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class JudgeLimits(JudgeRows):
    """Limits of a judge.

    With them, the rows are those that a judge scored. Other limits and settings are not used.

    min_kappa: minimum kappa of judge and gold labels
    max_width: maximum width of the interval of the pass rate, such as 0.1
    """

    min_kappa: float | None = None
    max_width: float | None = None


@dataclass(frozen=True, kw_only=True)
class LogLimits:
    """Limit of a log of a decision model.

    With it, the file is such a log. Other limits and settings are not used, but the level is.

    max_error RATE: highest error rate of the answers that are decided alone, such as 0.05: every
        question of the log must have a certified threshold
    labels FILE: labels of the questions, by the ids of the records, if they are in a second file
    """

    max_error: Share | None = None
    labels: Path | None = None


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
