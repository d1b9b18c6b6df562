"""A calibrator as a Python file that needs nothing, and as an ES module of JavaScript."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from calib.exports.recording import Expressions, Node, Program
from calib.numerics.arrays import FloatArray

PYTHON = '''{comment}

import math
from bisect import bisect_left, bisect_right
{tables}

def _exponent(x):
    mantissa, exponent = math.frexp(x)
    return float(exponent - (mantissa < 0.7071067811865476))


def _pieces(table, x):
    edges, right, centers, coefficients = table
    piece = (bisect_right if right else bisect_left)(edges, x)
    value, z = coefficients[piece][-1], x - centers[piece]
    for coefficient in coefficients[piece][-2::-1]:
        value = value * z + coefficient
    return value


def calibrate({parameter}):
    """{summary}"""
    for given in {listed}:
        if not 0.0 <= given <= 1.0:
            raise ValueError(f"Scores must be within [0, 1], got {{given}}.")
{steps}
    return {result}
'''
JAVASCRIPT = """{comment}

const exponent = (x) => Math.floor(Math.log2(x) + 0.5);

const pieces = ([edges, right, centers, coefficients], x) => {{
  let low = 0, high = edges.length;
  while (low < high) {{
    const middle = (low + high) >> 1;
    if (right ? edges[middle] <= x : edges[middle] < x) low = middle + 1;
    else high = middle;
  }}
  const powers = coefficients[low], z = x - centers[low];
  let value = powers[powers.length - 1];
  for (let d = powers.length - 2; d >= 0; d--) value = value * z + powers[d];
  return value;
}};
{tables}
/** {summary} */
export function calibrate({parameter}) {{
  for (const given of {listed})
    if (!(given >= 0 && given <= 1))
      throw new RangeError(`Scores must be within [0, 1], got ${{given}}.`);
{steps}
  return {result};
}}
"""
RUN = """import {{ calibrate }} from {module};
import {{ readFileSync }} from "node:fs";
const rows = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(rows.map(calibrate)));
"""


class _Script(Expressions):
    """What both languages share: tables of pieces as constants."""

    template: str
    helper: str
    one: str  # a list of the only score
    step: str
    table: str

    def __init__(self, program: Program, inputs: tuple[str, ...]) -> None:
        super().__init__(program, inputs)
        found = {id(n.pieces): n.pieces for n in program.order if n.pieces is not None}
        self.tables = {key: (f"TABLE_{i}", own) for i, (key, own) in enumerate(found.items(), 1)}

    def pieces(self, node: Node, argument: str) -> str:
        return f"{self.helper}({self.tables[id(node.pieces)][0]}, {argument})"

    def constants(self) -> str:
        """Each table: edges, whether an edge belongs to the right, centers, coefficients."""
        made = []
        for name, p in self.tables.values():
            content = [p.edges.tolist(), p.closed == "left", p.centers.tolist()]
            made.append(self.table.format(name, self.of_table([*content, p.coefficients.tolist()])))
        return "".join(made)

    def of_table(self, content: list[Any]) -> str:
        return json.dumps(content)


class _Python(_Script):
    template, helper, one = PYTHON, "_pieces", "(score,)"
    step, table = "    {} = {}", "\n{} = {}\n"
    words: ClassVar[Mapping[str, str]] = {
        "where": "({1} if {0} else {2})",
        "floor": "math.floor({0})",
        "exponent": "_exponent({0})",
        "power": "math.ldexp(1.0, int({0}))",
    }

    def of_table(self, content: list[Any]) -> str:
        return repr(content)


class _JavaScript(_Script):
    template, helper, one = JAVASCRIPT, "pieces", "[score]"
    step, table = "  const {} = {};", "\nconst {} = {};\n"
    words: ClassVar[Mapping[str, str]] = {
        "where": "({0} ? {1} : {2})",
        "floor": "Math.floor({0})",
        "exponent": "exponent({0})",
        "power": "2 ** ({0})",
    }


LANGUAGES: Mapping[str, type[_Script]] = {"python": _Python, "javascript": _JavaScript}


def script_text(language: str, program: Program, *, matrix: bool, notes: list[str]) -> str:
    """A file with one function, `calibrate`, of a score or of a row of class scores."""
    inputs = tuple(f"row[{k}]" for k in range(program.n_inputs)) if matrix else ("score",)
    code = LANGUAGES[language](program, inputs)
    results = [code.of(node) for node in program.outputs]
    named = (
        "probabilities of a row of class scores" if matrix else "probability of a score in [0, 1]"
    )
    return code.template.format(
        comment="\n".join(notes),
        tables=code.constants(),
        parameter="row" if matrix else "score",
        summary=f"Calibrated {named}.",
        listed="row" if matrix else code.one,
        steps="\n".join(code.step.format(code.name_of(n), code.whole(n)) for n in program.named),
        result=f"[{', '.join(results)}]" if matrix else results[0],
    )


def run_python(content: bytes, scores: FloatArray) -> FloatArray:
    """What the Python file gives for each score or row. It is our own text, see `verifying`."""
    names: dict[str, Any] = {}
    exec(compile(content, "<exported calibrator>", "exec"), names)
    return np.array([names["calibrate"](row) for row in scores.tolist()], dtype=np.float64)


def run_javascript(content: bytes, scores: FloatArray) -> FloatArray:
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "calibrator.mjs"
        module.write_bytes(content)
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
        told = [line for line in done.stderr.splitlines() if "Error" in line]
        told.append(done.stderr.strip()[-300:])
        raise ValueError(f"Node could not run the exported module: {told[0]}")
    # JSON has null for NaN, and NumPy reads None as NaN.
    return np.array(json.loads(done.stdout), dtype=np.float64)
