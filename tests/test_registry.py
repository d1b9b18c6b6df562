import subprocess
import sys
from pathlib import Path

from calib.core.registry import Registry

ROOT = Path(__file__).parents[1]
FILE = "calib/metrics/base.py"
ORDER = """
import calib.calibrators.vector
from calib.calibrators import CALIBRATORS
print(*CALIBRATORS)
"""


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


def test_the_examples_of_a_file_run_alone():
    """Its package imports it, and pytest must not execute it a second time."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", FILE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_the_order_of_calibrators_does_not_follow_imports():
    command = [sys.executable, "-c", ORDER]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == [
        *("uncalibrated", "clip", "temperature", "prior_shift", "logistic", "platt", "vector"),
        *("beta_am", "beta_ab", "beta", "ispline", "pwl", "spline", "splinecalib", "ks_spline"),
        *("dirichlet", "dirichlet_l2", "isotonic", "matrix", "venn_abers", "histogram"),
    ]
