"""The examples of docs/contributing.md, run as they are printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```py(?:thon)?\n(.*?)```", GUIDE, re.DOTALL)
# In a process of its own, because what is registered stays.
USE = """
import calib
from calib.figures.svg import to_svg
from calib.ui.session.choice import Choice, flag, on
from calib.ui.session.choices import *
import streamlit as st

predictions = calib.examples.EXAMPLES["naive_bayes"].load()
settings = calib.Settings(methods=("shrink",), metrics=("share_above_half",))
analysis = calib.analyze(predictions, settings)
print(analysis.methods["shrink"].function.formula.partition(" ")[0])
print(round(analysis.table()["share_above_half"]["uncalibrated"], 6))
print(round(float((predictions.scores > 0.5).mean()), 6))
chart = outcome_chart(analysis)
print([layer.type for layer in chart.figure.data], to_svg(chart).count("<path"))
print(GRID.key, GRID.default)
"""


@pytest.fixture(scope="module")
def printed() -> list[str]:
    made = [block for block in EXAMPLES if "def test_" not in block]
    control = [block for block in made if "GRID = Choice" in block]
    others = [block for block in made if block not in control]
    before, after = USE.split("\npredictions = ")
    code = "\n".join([before, *others, *control, f"predictions = {after}"])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_guide_has_an_example_of_each_kind() -> None:
    for declared in ("@metric(", "@register(", "Choice[bool](", "@chart"):
        assert sum(declared in block for block in EXAMPLES) == 1


def test_the_metric_and_the_calibrator_are_in_an_analysis(printed: list[str]) -> None:
    assert printed[0] == "0.9"
    assert printed[1] == printed[2]


def test_the_chart_is_drawn_with_and_without_scripts(printed: list[str]) -> None:
    kinds, _, paths = printed[3].rpartition(" ")
    assert kinds == "['scatter', 'scatter']"
    assert int(paths) >= 2


def test_the_control_is_declared(printed: list[str]) -> None:
    assert printed[4] == "grid False"
