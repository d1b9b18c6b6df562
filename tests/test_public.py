"""The contract with those who call the library."""

import graphlib
import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

import calib

ROOT = Path(__file__).parents[1]


def run(code: str, folder: Path = ROOT) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_library_imports_neither_streamlit_nor_plotly():
    loaded = run(
        "import sys, calib; print([m for m in ('streamlit', 'plotly') if m in sys.modules])"
    )
    assert loaded.strip() == "[]"


@pytest.mark.parametrize(
    ("used", "spared"),
    [("calib", ("numpy", "pandas", "sklearn")), ("calib.metrics.auc", ("sklearn",))],
)
def test_a_name_imports_what_it_needs_and_no_more(used, spared):
    loaded = run(f"import sys, calib; {used}; print([m for m in {spared} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_a_name_that_does_not_exist_is_said_so():
    with pytest.raises(AttributeError, match="module 'calib' has no attribute 'analyse'"):
        _ = calib.analyse  # type: ignore[attr-defined]
    assert set(calib.__all__) <= set(dir(calib))


def test_analysing_needs_neither_streamlit_nor_plotly():
    run(
        "import sys; sys.modules['streamlit'] = sys.modules['plotly'] = None\n"
        "import calib; calib.analyze(calib.examples.EXAMPLES['naive_bayes'].load()).table()"
    )


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/contributing.md", "docs/scale.md"])
def test_the_pages_of_the_project_show_code_that_runs(page, tmp_path):
    blocks = python_blocks(page)
    assert blocks
    # One process, each block with names of its own.
    run(f"for block in {blocks!r}: exec(block, {{'__name__': 'block'}})", tmp_path)


def test_every_public_name_is_there():
    missing = [name for name in calib.__all__ if not hasattr(calib, name)]
    assert missing == []
    metrics = [
        "log_loss",
        "brier_score",
        "expected_calibration_error",
        "ks_error",
        "kuiper_error",
        "ks_test",
        "signed_calibration_error",
        "calibration_slope_intercept",
        "auc",
        "spiegelhalter_test",
    ]
    assert [name for name in metrics if not callable(getattr(calib.metrics, name))] == []


def test_no_module_imports_itself_in_a_circle():
    graph = grimp.build_graph("calib", exclude_type_checking_imports=True, cache_dir=None)
    # The library's own names are imported from everywhere when they are first used.
    graph.remove_module("calib")
    modules = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    # A CycleError names the modules of the circle.
    graphlib.TopologicalSorter(modules).prepare()
