import os
import subprocess
import sys
from pathlib import Path

from calib.calibrators import CALIBRATORS
from calib.data.registry import Registry
from tests.rare import rare

ROOT = Path(__file__).parents[1]
FILE = "calib/metrics/base.py"


def test_a_key_is_registered_once(texts):
    tools = Registry[int]("tool")
    tools.add("saw", 1)
    with texts.raises(ValueError):
        tools.add("saw", 2)
    assert dict(tools) == {"saw": 1}


def test_an_unknown_key_names_the_known_ones(texts):
    tools = Registry[int]("tool")
    tools.add("saw", 1)
    with texts.raises(KeyError):
        tools["axe"]
    assert "axe" not in tools


def test_a_matrix_form_has_words_of_its_own_or_those_of_its_method():
    temperature, clip = CALIBRATORS["temperature"], CALIBRATORS["clip"]
    assert temperature.words(matrix=True)[1] not in ("", temperature.words(matrix=False)[1])
    assert clip.words(matrix=True) == clip.words(matrix=False)


@rare
def test_the_examples_of_a_file_run_alone():
    """Its package imports it, and pytest must not execute it a second time."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", FILE]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=alone)
    assert done.returncode == 0, done.stdout


def test_methods_of_similar_names_are_told_apart_where_they_stand_alone() -> None:
    assert CALIBRATORS["platt"].label == "Platt scaling (on scores)"
    assert CALIBRATORS["logistic"].label == "Logistic (on log-odds)"
    assert CALIBRATORS["platt"].short_label == "Platt scaling"
    for attribute in ("label", "short_label"):
        names = [getattr(method, attribute) for method in CALIBRATORS.values()]
        assert len(set(names)) == len(names)
