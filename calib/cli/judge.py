"""``judge``: a judge's scores against gold labels."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calib.analysis.judge import MIN_TELLING_LABELS, JudgeComparison, JudgeResult
from calib.analysis.limits import Finding
from calib.cli import options
from calib.cli.predictions import with_options
from calib.cli.streams import tell, writing
from calib.judging import compare_judges
from calib.loading.problems import InputError
from calib.numerics.intervals import Estimate
from calib.reports.render.files import to_csv, write_whole
from calib.text import count, percent, percent_with_interval, plural, quoted, with_interval

EXAMPLES = """examples:
  calib judge judged.csv --gold gold.csv
  calib judge judged.csv --gold gold.csv --score rating --scale 1 5 --json
  calib judge judged.csv --outcome human --score small --score large
  calib judge judged.csv --gold gold.csv --next next.csv --next-rows 100

exit status:
  0  the result was printed, also if there are too few labels
  2  the input cannot be used, or the labels do not match the rows
"""
MEANINGS = {
    "score": "column of the judge's score, or of its answer such as pass and fail; several columns "
    "are several judges",
    "outcome": "column of the gold labels",
    "model": "column that names the model that answered each row",
    "group": "column of cluster IDs, if rows are not independent: samples of one question",
    "positive": "the label that passes, if it is not a word such as pass, yes or 1",
    "negative": "the label that fails, if there are more than two",
}
OF_LOAD = ("others_negative", "decimal")


def add(commands: options.Commands) -> None:
    parser = options.add_command(
        commands,
        "judge",
        run,
        help="estimate a pass rate from a judge's scores and gold labels",
        description="Estimate the pass rate of rows that a judge scored, from gold labels of some "
        "of them, and the judge's agreement with the labels.",
        epilog=EXAMPLES,
    )
    parser.add_argument(
        "judged", help="judged rows: CSV, TSV, Parquet, Arrow; or - for standard input"
    )
    add_gold(parser)
    columns = parser.add_argument_group("columns", "What is not given is guessed.")
    for name, meaning in MEANINGS.items():
        is_label = name in ("positive", "negative")
        many: dict[str, Any] = {"action": "append"} if is_label or name == "score" else {}
        metavar = "LABEL" if is_label else "COLUMN"
        columns.add_argument(f"--{name}", metavar=metavar, help=meaning, **many)
    add_own_columns(columns)
    for name in OF_LOAD:
        columns.add_argument(options.option_of(name), dest=name, **options.DATA[name])
    options.add_file_format(parser)
    made = parser.add_argument_group("result")
    made.add_argument(
        "--level", type=float, default=0.95, metavar="NUMBER", help="confidence level of intervals"
    )
    made.add_argument(
        "--threshold",
        type=float,
        default=0.5,
        metavar="NUMBER",
        help="the judge's answer is pass if its score, converted to 0 to 1, is at least this "
        "(default: 0.5)",
    )
    made.add_argument("--seed", type=int, default=0, metavar="NUMBER", help="seed of --next")
    made.add_argument(
        "--width",
        type=float,
        metavar="NUMBER",
        help="also say how many labels give an interval of at most this width, such as 0.1",
    )
    made.add_argument("--next", metavar="FILE", type=Path, help="CSV of the rows to label next")
    made.add_argument(
        "--next-rows", type=int, default=50, metavar="NUMBER", help="how many (default: 50)"
    )
    made.add_argument("--json", action="store_true", help="print JSON")


GOLD_MEANING = (
    "gold labels, matched by an id column, or by position; if not given, a column of the judged "
    "rows that is blank for rows without a label"
)


def add_gold(group: argparse._ActionsContainer, meaning: str = GOLD_MEANING) -> None:
    group.add_argument("--gold", metavar="FILE", help=meaning)


def add_own_columns(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--row-id",
        metavar="COLUMN",
        help="column that identifies each row, in both files; without one the files must have the "
        "same rows in the same order",
    )
    group.add_argument(
        "--scale",
        nargs=2,
        type=float,
        default=(0.0, 1.0),
        metavar=("LOW", "HIGH"),
        help="lowest and highest possible score, such as 1 and 5 (default: 0 1)",
    )


def compared(given: argparse.Namespace, judged: str) -> JudgeComparison:
    """The results of the judges and models that the options name."""
    if more := getattr(given, "more_files", ()):
        raise ValueError(f"The rows of a judge are one file, got {1 + len(more)}.")
    names = (*MEANINGS, "row_id", *OF_LOAD)
    given_columns = {name: getattr(given, name, None) for name in names}
    columns = {name: value for name, value in given_columns.items() if value is not None}
    columns["scale"] = tuple(given.scale)
    # The options of `check` leave out what was not given.
    at: float = getattr(given, "level", getattr(given, "confidence_level", 0.95))
    numbers: dict[str, Any] = {
        "confidence_level": at,
        "seed": getattr(given, "seed", 0),
        "threshold": getattr(given, "threshold", 0.5),
    }
    try:
        comparison = compare_judges(
            judged, given.gold, **numbers, **columns, **options.file_format_of(given)
        )
    except InputError as error:
        raise with_options(error) from None
    for name, reason in comparison.failures.items():
        tell(f"note: {name} cannot be analysed: {reason}")
    for note in dict.fromkeys(note for one in comparison.results.values() for note in one.notes):
        tell(f"note: {note}")
    return comparison


def run(given: argparse.Namespace) -> int:
    results = compared(given, given.judged).results
    if given.next is not None and len(results) > 1:
        raise ValueError(f"--next needs one judge and one model, got {len(results)}.")
    wanted = given.width
    needed = {} if wanted is None else {k: one.labels_for(wanted) for k, one in results.items()}
    if given.json:
        rows = [as_json(name, result, needed.get(name)) for name, result in results.items()]
        print(json.dumps({"judges": rows}, indent=2, ensure_ascii=False))
    else:
        texts = [_text(name, results) + _needed(given.width, needed.get(name)) for name in results]
        print("\n\n".join(texts))
    if given.next is not None:
        (result,) = results.values()
        with writing(given.next):
            write_whole(given.next, to_csv(result.next_rows(given.next_rows)))
        tell(f"{given.next}")
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


def findings(given: argparse.Namespace) -> list[Finding]:
    """The limits of `check` for judges, and whether each judge meets them.

    Too few labels tell nothing, so there is a limit for them too. A judge that cannot be analysed
    meets no limit.
    """
    comparison = compared(given, given.predictions)
    several = len(comparison.results) + len(comparison.failures) > 1
    made = []
    for name, result in comparison.results.items():
        low, high = result.interval
        of = f" of {quoted(name)}" if several else ""
        made += _limited(given, of, result.kappa, high - low)
        label = f"number of gold labels{of}"
        made.append(Finding(label, result.n_labels, MIN_TELLING_LABELS, at_most=False))
        tell(f"judge: {result.sentence}")
    for name in comparison.failures:
        made += _limited(given, f" of {quoted(name)}", math.nan, math.nan)
    return made


def _limited(given: argparse.Namespace, of: str, kappa: float, width: float) -> list[Finding]:
    """The numbers of a judge that have a limit. They are NaN if they are not known."""
    made = []
    if given.min_kappa is not None:
        made.append(Finding(f"kappa{of}", kappa, given.min_kappa, at_most=False))
    if given.max_width is not None:
        label = f"width of the pass rate's interval{of}"
        made.append(Finding(label, width, given.max_width, at_most=True))
    return made
