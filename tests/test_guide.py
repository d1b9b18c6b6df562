"""The examples of docs/contributing.md, run as they are printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rare import rare

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
FEATURE = "FEATURES.add("
EXAMPLES = re.findall(r"```py(?:thon)?\n(.*?)```", GUIDE, re.DOTALL)
# A registration lasts as long as its process, so this runs in its own.
USE = """
import calib
from calib.figures.svg import to_svg
from calib.ui.session.choice import Choice, flag, on
from calib.ui.session.choices import *
from tests.choices import cases
import streamlit as st

predictions = calib.examples.EXAMPLES["naive_bayes"].load()
settings = calib.Settings(methods=("shrink",), metrics=("share_above_half",))
analysis = calib.analyze(predictions, settings)
print(analysis.methods["shrink"].function.formula)
rate = predictions.outcome.mean()
((slope,), *_) = np.linalg.lstsq((predictions.scores - rate)[:, None], predictions.outcome - rate)
print(f"{rate:.3g} + {slope:.3g} (s - {rate:.3g})")
print(round(analysis.table()["share_above_half"]["uncalibrated"], 6))
print(round(float((predictions.scores > 0.5).mean()), 6))
chart = outcome_chart(analysis)
assert calib.plot.outcome(analysis) == chart.figure and "outcome" in dir(calib.plot)
print([layer.type for layer in chart.figure.data], to_svg(chart).count("<path"))
print(GRID.key, GRID.default, cases(GRID))
"""


@pytest.fixture(scope="module")
def printed() -> list[str]:
    made = [block for block in EXAMPLES if "def test_" not in block and FEATURE not in block]
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
    for declared in ("@metric(", "@register(", "Choice[bool](", "@chart", FEATURE):
        assert sum(declared in block for block in EXAMPLES) == 1


def test_the_metric_and_the_calibrator_are_in_an_analysis(printed: list[str]) -> None:
    assert printed[0] == printed[1]
    assert printed[2] == printed[3]


def test_the_chart_is_drawn_with_and_without_scripts(printed: list[str]) -> None:
    kinds, _, paths = printed[4].rpartition(" ")
    assert kinds == "['scatter', 'scatter']"
    assert int(paths) >= 2


def test_the_control_has_test_cases_from_its_declaration(printed: list[str]) -> None:
    assert printed[5] == "grid False (True,)"


# A colleague's package consists of the two examples as modules.
POINTS = """[calib.metrics]
share_above_half = guide_metric

[calib.calibrators]
shrink = guide_calibrator
"""
COMMON = (
    "tests/metrics/test_properties.py",
    "tests/metrics/test_facade.py",
    "tests/metrics/test_doctests.py",
    "tests/calibrators/test_common.py",
    "tests/multiclass/test_common.py",
    "tests/exports/test_numbers.py",
    "tests/figures/test_all.py",
)
# The kept texts have no formulas of the example, so that test is left out.
SELECTED = "(shrink or share_above_half or outcome_chart) and not test_formulas_say_what_was_fitted"


@rare
def test_metric_calibrator_and_chart_pass_the_common_tests(tmp_path: Path) -> None:
    signs = {"metric": "@metric(", "calibrator": "@register(", "chart": "@chart"}
    for name, sign in signs.items():
        (example,) = (block for block in EXAMPLES if sign in block)
        (tmp_path / f"guide_{name}.py").write_text(example)
    facts = tmp_path / "guide-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: guide\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(POINTS)
    # Charts have no entry points, so pytest imports the example as a plugin.
    plugins = ["-p", "no:cacheprovider", "-p", "guide_chart", "-m", ""]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *plugins]
    done = subprocess.run(
        [*command, *COMMON, "-k", SELECTED],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None, done.stdout
    # There were 114 at first. Far fewer would mean that -k selects too little.
    assert int(passed[1]) >= 100


# A registration lasts as long as its process, so this runs in its own, too.
USE_FEATURE = """
import sys
import calib
from calib.cli.main import main
from tests.pages.harness import at, go

status = main(["skill", sys.argv[1], "--outcome", "y", "--score", "p"])
report = calib.report(calib.analyze(calib.load(sys.argv[1], outcome="y", score="p")))
lines = report.markdown().splitlines()
place = lines.index("## Skill")
print(lines[place], lines[place + 2], sep="\\n")
app = go(at(room="skill", bins="12"), "Skill")
print([one.value for one in app.markdown if one.value.startswith("## ")])
print(app.query_params)
links = [one.proto for one in app.get("page_link") if one.proto.label == "Skill"]
print([(one.page, one.query_string) for one in links], list(app.warning))
print(go(at(room="other"), "Skill").error[0].value)
"""


@rare
def test_a_feature_of_another_package_has_a_page_a_command_and_a_section(tmp_path: Path) -> None:
    (example,) = (block for block in EXAMPLES if FEATURE in block)
    assert len(example.splitlines()) <= 60
    (tmp_path / "skill_of_others.py").write_text(example)
    facts = tmp_path / "skill-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: skill\nVersion: 1.0\n")
    points = re.search(r'entry-points\."(calib\.features)"\]\n(skill = )"(\w+)"', GUIDE)
    assert points is not None
    (facts / "entry_points.txt").write_text(f"[{points[1]}]\n{points[2]}{points[3]}\n")
    rows = tmp_path / "rows.csv"
    # Scores of 0.2 and 0.8 that are right four times in five: 1 - 0.16 / 0.25 is 36%.
    lines = [f"{y},{p}" for p, ys in ((0.2, "00001"), (0.8, "11110")) for y in ys]
    rows.write_text("y,p\n" + "\n".join(lines * 20))
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", USE_FEATURE, str(rows)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "CALIB_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed, title, section, heading, address, link, refused = done.stdout.splitlines()
    assert "36.0%" in printed
    assert (title, section) == ("## Skill", f"**{printed}**")
    assert "48.6%" in heading
    # The settings of the link act, and its address keeps the key of the feature.
    assert address == "{'v': '1', 'bins': '12', 'room': 'skill'}"
    assert link == "[('room', 'room=skill')] []"
    assert "other" in refused
