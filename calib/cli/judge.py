"""``judge``: a judge's scores against gold labels."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from calib.analysis.judge import MIN_TELLING_LABELS, JudgeComparison, JudgeResult
from calib.analysis.summary import Finding
from calib.cli import options
from calib.cli.predictions import with_options
from calib.cli.streams import tell, writing
from calib.data.file_options import FileFormat
from calib.judging import compare_judges
from calib.loading.problems import InputError
from calib.numerics.intervals import Estimate
from calib.reports.render.files import to_csv, write_whole
from calib.text import count, percent, percent_with_interval, plural, quoted, with_interval

# Columns of `Rows` that judged rows have too.
OF_ROWS = (
    *("score", "outcome", "model", "group", "positive", "negative", "others_negative", "decimal"),
    *(one.name for one in fields(FileFormat)),
)


def compared_rows(
    rows: options.Rows, judged: options.JudgeRows, settings: options.SettingsOptions
) -> JudgeComparison:
    """The judges and models of rows whose options are those of predictions."""
    if rows.more_files:
        raise ValueError(f"The rows of a judge are one file, got {1 + len(rows.more_files)}.")
    given = rows.load_arguments()
    numbers = {"confidence_level": settings.confidence_level, "seed": settings.seed}
    stated = {name: value for name, value in numbers.items() if value is not None}
    columns = {name: given[name] for name in OF_ROWS if name in given}
    return compared(rows.predictions, judged, columns | stated)


def compared(file: str, judged: options.JudgeRows, stated: Mapping[str, Any]) -> JudgeComparison:
    """The results of the judges and models that the options name."""
    row_id: dict[str, Any] = {} if judged.row_id is None else {"row_id": judged.row_id}
    try:
        comparison = compare_judges(file, judged.gold, scale=judged.scale, **row_id, **stated)
    except InputError as error:
        raise with_options(error) from None
    for name, reason in comparison.failures.items():
        tell(f"note: {name} cannot be analysed: {reason}")
    for note in dict.fromkeys(note for one in comparison.results.values() for note in one.notes):
        tell(f"note: {note}")
    return comparison


def show(
    results: Mapping[str, JudgeResult],
    *,
    width: float | None,
    next_file: Path | None,
    next_rows: int,
    as_text: bool,
) -> int:
    """Print the results, and write the rows to label next."""
    if next_file is not None and len(results) > 1:
        raise ValueError(f"--next needs one judge and one model, got {len(results)}.")
    needed = {} if width is None else {k: one.labels_for(width) for k, one in results.items()}
    if not as_text:
        rows = [as_json(name, result, needed.get(name)) for name, result in results.items()]
        print(json.dumps({"judges": rows}, indent=2, ensure_ascii=False))
    else:
        texts = [_text(name, results) + _needed(width, needed.get(name)) for name in results]
        print("\n\n".join(texts))
    if next_file is not None:
        (result,) = results.values()
        with writing(next_file):
            write_whole(next_file, to_csv(result.next_rows(next_rows)))
        tell(f"{next_file}")
    return 0


def as_json(name: str, result: JudgeResult, needed: int | None) -> dict[str, Any]:
    """The numbers of `JudgeResult.frame`, the finding and the notes; NaN is null."""
    numbers = {key: _plain(value) for key, value in result.frame().iloc[0].items()}
    more = {"judge": name, "sentence": result.sentence, "notes": list(result.notes)}
    return more | {str(key): value for key, value in numbers.items()} | {"labels_needed": needed}


def _plain(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and math.isnan(plain) else plain


def _text(name: str, results: Mapping[str, JudgeResult]) -> str:
    result = results[name]
    agreement = Estimate(result.agreement, *result.agreement_interval)
    lines = {
        "pass rate": percent_with_interval(result.estimate),
        "judge's mean": percent(result.plain_mean),
        "labels' mean": percent_with_interval(result.labels_mean),
        "labels": f"{count(result.n_labels)} of {plural(result.n_rows, 'row')}",
        "labels saved": count(result.labels_saved),
        "agreement": f"{percent_with_interval(agreement)}, constant answer "
        f"{percent(result.constant_accuracy)}",
        "kappa": with_interval(Estimate(result.kappa, *result.kappa_interval), 2),
        "disagreements": count(len(result.disagreements)),
    }
    head = f"{name}: " if len(results) > 1 else ""
    body = "".join(f"\n  {label:<14} {value}" for label, value in lines.items())
    return f"{head}{result.sentence}{body}"


def _needed(width: float | None, needed: int | None) -> str:
    if width is None:
        return ""
    wanted = f"for an interval of {100.0 * width:g} points"
    if needed is None:
        return f"\n  labels of all rows are not enough {wanted}"
    return f"\n  {plural(needed, 'label')} in total {wanted}"


def findings(comparison: JudgeComparison, limits: options.JudgeLimits) -> list[Finding]:
    """The limits of `check` for judges, and whether each judge meets them.

    Too few labels tell nothing, so there is a limit for them too. A judge that cannot be analysed
    meets no limit.
    """
    several = len(comparison.results) + len(comparison.failures) > 1
    made = []
    for name, result in comparison.results.items():
        low, high = result.interval
        of = f" of {quoted(name)}" if several else ""
        made += _limited(limits, of, result.kappa, high - low)
        label = f"number of gold labels{of}"
        made.append(Finding(label, result.n_labels, MIN_TELLING_LABELS, at_most=False))
        tell(f"judge: {result.sentence}")
    for name in comparison.failures:
        made += _limited(limits, f" of {quoted(name)}", math.nan, math.nan)
    return made


def _limited(limits: options.JudgeLimits, of: str, kappa: float, width: float) -> list[Finding]:
    """The numbers of a judge that have a limit. They are NaN if they are not known."""
    made = []
    if limits.min_kappa is not None:
        made.append(Finding(f"kappa{of}", kappa, limits.min_kappa, at_most=False))
    if limits.max_width is not None:
        label = f"width of the pass rate's interval{of}"
        made.append(Finding(label, width, limits.max_width, at_most=True))
    return made
