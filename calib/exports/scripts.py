"""A calibrator as a Python file that needs nothing, and as an ES module of JavaScript."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from calib.calibrators.forms import Form, RowsForm
from calib.exports.document import CHOICE, Language, Text
from calib.exports.score_conversion import Conversion
from calib.exports.sql import Choices
from calib.numerics.arrays import FloatArray
from calib.numerics.splines import Pieces

MAX_LINE_LENGTH = 100
PYTHON = '''{comment}

import math
{helper}{tables}

def calibrate({parameter}):
    """Calibrated {what}."""
    if not {allowed}:
        raise ValueError(f"Scores must be within [{low}, {high}], got {{{parameter}}}.")
{steps}    return {result}
'''
PYTHON_CURVE = '''from bisect import bisect_left, bisect_right


def curve(table, x):
    """The polynomial of the piece that x lies in."""
    search, edges, pieces = table
    start, *powers = pieces[search(edges, x)]
    value = 0.0
    for power in reversed(powers):
        value = value * (x - start) + power
    return value

'''
PYTHON_WHERE = '''

TIME, SINCE, COLUMN, VALUE, SCORE = {names}


def calibrate_row(row):
    """The calibrated score of a row, a mapping by column. Rows without the value of the column, or
    of days before, keep their score.
    """
    inside = str(row[TIME])[:10] >= SINCE and (not COLUMN or str(row[COLUMN]) == VALUE)
    return calibrate(row[SCORE]) if inside else row[SCORE]
'''
JAVASCRIPT = """{comment}
{helper}{tables}
/** Calibrated {what}. */
export function calibrate({parameter}) {{
  if (!{allowed})
    throw new RangeError(`Scores must be numbers within [{low}, {high}], got ${{{parameter}}}.`);
{steps}  return {result};
}}
"""
JAVASCRIPT_CURVE = """
/** The polynomial of the piece that x lies in. */
function curve([edgeIsRight, edges, pieces], x) {
  let low = 0, high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edgeIsRight ? edges[middle] <= x : edges[middle] < x) low = middle + 1;
    else high = middle;
  }
  const [start, ...powers] = pieces[low];
  return powers.reduceRight((value, power) => value * (x - start) + power, 0);
}
"""
JAVASCRIPT_WHERE = """
const [TIME, SINCE, COLUMN, VALUE, SCORE] = [{names}];

/**
 * The calibrated score of a row, an object by column with the day as text such as 2026-05-01. Rows
 * without the value of the column, or of days before, keep their score.
 */
export function calibrateRow(row) {{
  const inside = row[TIME].slice(0, 10) >= SINCE && (!COLUMN || row[COLUMN] === VALUE);
  return inside ? calibrate(row[SCORE]) : row[SCORE];
}}
"""
RUN = """import {{ calibrate }} from {module};
import {{ readFileSync }} from "node:fs";
const rows = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(rows.map(row => calibrate(row))));
"""


class Script(Language):
    """Each `let` is an assignment, and each curve a constant of the module."""

    template: ClassVar[str]
    where: ClassVar[str]  # The function applies the condition to a row.
    curve: ClassVar[str]  # The function evaluates the piece that a score lies in.
    assignment: ClassVar[str]
    table: ClassVar[str]
    allowed: ClassVar[str]  # The condition tests one score.
    row_allowed: ClassVar[str]  # The condition tests every score of a row.
    # The first entry of a table says whether an edge belongs to the piece on its right or its left.
    closed: ClassVar[tuple[str, str]]

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.tables: list[str] = []
        self._used: dict[str, int] = {}

    def assign(self, name: str, columns: Sequence[Text]) -> Sequence[Text]:
        variables = []
        for column in columns:
            number = self._used[name] = self._used.get(name, 0) + 1
            variable = name if len(columns) == 1 and number == 1 else f"{name}{number}"
            self.steps.append(self.assignment.format(variable, wrapped(str(column))))
            variables.append(self.atom(variable))
        return variables

    def pieces(self, pieces: Pieces, x: Text) -> Text:
        name = f"TABLE_{len(self.tables) + 1}"
        rows = np.column_stack([pieces.centers, pieces.coefficients]).tolist()
        parts = [
            self.closed[pieces.closed == "right"],
            listed(pieces.edges.tolist()),
            listed(rows),
        ]
        self.tables.append(self.table.format(name, ",\n    ".join(parts)))
        return self.atom(f"curve({name}, {x})")


class Python(Script):
    template, where, curve = PYTHON, PYTHON_WHERE, PYTHON_CURVE
    log_name, exp_name, greatest_name = "math.log", "math.exp", "max"
    assignment, table = "    {} = {}\n", "{} = (\n    {},\n)\n"
    allowed = "{low} <= {score} <= {high}"
    row_allowed = "all({low} <= score <= {high} for score in row)"
    closed = ("bisect_right", "bisect_left")

    def clip(self, x: Text, low: float, high: float) -> Text:
        return self.atom(f"min(max({x}, {self.constant(low)}), {self.constant(high)})")

    def choose(self, condition: Text, yes: Text | float, no: Text | float) -> Text:
        first, last = (e if isinstance(e, Text) else self.constant(e) for e in (yes, no))
        return Text(f"{first} if {condition} else {last}", CHOICE, self)


class JavaScript(Script):
    template, where, curve = JAVASCRIPT, JAVASCRIPT_WHERE, JAVASCRIPT_CURVE
    log_name, exp_name, greatest_name = "Math.log", "Math.exp", "Math.max"
    assignment, table = "  const {} = {};\n", "const {} = [\n    {},\n];\n"
    allowed = '(typeof {score} === "number" && {score} >= {low} && {score} <= {high})'
    row_allowed = (
        'row.every((score) => typeof score === "number" && score >= {low} && score <= {high})'
    )
    closed = ("true", "false")

    def clip(self, x: Text, low: float, high: float) -> Text:
        return self.atom(f"Math.min(Math.max({x}, {self.constant(low)}), {self.constant(high)})")

    def choose(self, condition: Text, yes: Text | float, no: Text | float) -> Text:
        first, last = (e if isinstance(e, Text) else self.constant(e) for e in (yes, no))
        return Text(f"{condition} ? {first} : {last}", CHOICE, self)


LANGUAGES: dict[str, type[Script]] = {"python": Python, "javascript": JavaScript}


def wrapped(expression: str) -> str:
    """A long expression in parentheses over several lines; a short one does not change."""
    if len(expression) < MAX_LINE_LENGTH - 12:
        return expression
    indent = " " * 8
    indented = textwrap.fill(
        expression, MAX_LINE_LENGTH, initial_indent=indent, subsequent_indent=indent
    )
    return f"(\n{indented}\n    )"


def listed(values: list[Any]) -> str:
    """A list of numbers, or of lists of them, in lines."""
    indent = " " * 8
    numbers = json.dumps(values)[1:-1]
    lines = textwrap.fill(numbers, MAX_LINE_LENGTH, initial_indent=indent, subsequent_indent=indent)
    return f"[\n{lines}\n    ]"


def script_text(
    language: str,
    form: Form | RowsForm,
    conversion: Conversion,
    n_classes: int | None,
    notes: Sequence[str],
    choices: Choices,
) -> str:
    """A file with the function `calibrate` of a score or of a row of class scores.

    With a condition, it has a second function, of a row by column.
    """
    do, one = LANGUAGES[language](), isinstance(form, Form)
    if isinstance(form, Form):
        results = [conversion.calibrated(form, do, do.atom("score"))]
    else:
        row = [do.atom(f"row[{k}]") for k in range(n_classes or 0)]
        results = list(form(do, conversion.of_row(do, row)))
    low, high = (str(int(e)) if abs(e) < 1e3 else repr(e) for e in conversion.limits)
    text = do.template.format(
        comment="\n".join(notes),
        helper=do.curve if do.tables else "",
        tables="\n" + "\n".join(do.tables) if do.tables else "",
        parameter="score" if one else "row",
        what="probability of a score" if one else "probabilities of a row of class scores",
        allowed=(do.allowed if one else do.row_allowed).format(score="score", low=low, high=high),
        low=low,
        high=high,
        steps="".join(do.steps),
        result=wrapped(str(results[0]) if one else f"[{', '.join(map(str, results))}]"),
    )
    if (only := choices.condition) is None:
        return text
    parts = (only.time, only.since, only.column, only.value, choices.columns[0])
    return text + do.where.format(names=", ".join(map(json.dumps, parts)))


def run_python(text: str, scores: FloatArray) -> FloatArray:
    """Run Python text for each score or row. It must be written by calib, not read from a file."""
    names: dict[str, Any] = {}
    exec(compile(text, "<exported calibrator>", "exec"), names)
    return np.array([names["calibrate"](row) for row in scores.tolist()], dtype=np.float64)


def run_javascript(text: str, scores: FloatArray) -> FloatArray:
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "calibrator.mjs"
        module.write_text(text, encoding="utf-8")
        runner = Path(folder) / "run.mjs"
        runner.write_text(RUN.format(module=json.dumps(module.as_uri())), encoding="utf-8")
        done = subprocess.run(
            [shutil.which("node") or "node", str(runner)],
            input=json.dumps(scores.tolist()),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
    if done.returncode:
        messages = [line for line in done.stderr.splitlines() if "Error" in line]
        messages.append(done.stderr.strip()[-300:])
        raise ValueError(f"Node could not run the exported module: {messages[0]}")
    # JavaScript writes NaN as null, and NumPy reads None as NaN.
    return np.array(json.loads(done.stdout), dtype=np.float64)
