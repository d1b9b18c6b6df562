"""The contract with those who call the library."""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import calib.calibrators
import calib.exports
import calib.integrations.mlflow
import calib.loading
import calib.reports
import calib.scanning
import calib.testing
from calib.calibrators import CALIBRATORS
from calib.figures import CHARTS
from calib.metrics import METRICS
from docs.declared import with_metrics
from docs.example_report import PLACE, example_report
from tests.rare import rare

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


# These names are used one after the other. The values are packages that are still not imported
# then.
SPARED = {
    "import calib": "numpy pandas sklearn streamlit plotly",
    "import calib.loading.reading.apart": "sklearn scipy.optimize",
    "calib.metrics.auc": "sklearn",
    "import calib.calibrators.matrix": "streamlit plotly",
}
ANALYSED = """
sys.modules['streamlit'] = sys.modules['plotly'] = None
rows = calib.examples.EXAMPLES['naive_bayes'].load()
calib.analyze(rows, {'methods': ('platt', 'spline')}).table()
"""


def test_what_is_used_imports_what_it_needs_and_no_more():
    """One process, which takes long to start."""
    code = ["import sys"]
    for used, spared in SPARED.items():
        code += [used, f"print([m for m in {spared.split()} if m in sys.modules])"]
    code += ["print(*calib.calibrators.CALIBRATORS)", ANALYSED]
    *loaded, order = run("\n".join(code)).splitlines()
    assert loaded == ["[]"] * len(SPARED)
    # The module `matrix` was imported first there, and the registry's order does not follow
    # imports.
    assert order.split() == sorted(CALIBRATORS, key=lambda key: (CALIBRATORS[key].simplicity, key))


def test_a_name_that_does_not_exist_is_said_so():
    with pytest.raises(AttributeError, match="module 'calib' has no attribute 'analyse'"):
        _ = calib.analyse  # type: ignore[attr-defined]
    assert set(calib.__all__) <= set(dir(calib))


PUBLIC = [
    calib,
    calib.metrics,
    calib.plot,
    calib.examples,
    calib.testing,
    calib.integrations.mlflow,
]
PUBLIC += [calib.decisions, calib.periods, calib.slices, calib.exports, calib.scanning]
PUBLIC += [calib.analysis, calib.calibrators, calib.loading, calib.reports]


# These modules offer names only by registration.
REGISTERED = {
    calib.metrics: METRICS,
    calib.plot: {name.removesuffix("_chart") for name in CHARTS},
}


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_a_public_module_shows_its_own_names_alone(module):
    public = {*module.__all__, *REGISTERED.get(module, ())}
    shown = {name for name in dir(module) if not name.startswith("_")} - public
    foreign = [name for name in shown if not inspect.ismodule(getattr(module, name))]
    assert not foreign
    assert all(getattr(module, name).__name__ == f"{module.__name__}.{name}" for name in shown)


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]
# The blocks of docs/reports.md are one program, which tests/store/test_docs.py runs. Those of
# docs/contributing.md are the package of a feature, which tests/test_guide.py runs. Those of a
# tutorial go on from each other, as tests/test_tutorials.py runs them.
TUTORIALS = [page for page in PAGES if "/tutorial-" in page]
TESTED_ELSEWHERE = ["docs/reports.md", "docs/contributing.md", *TUTORIALS]
WITH_CODE = [page for page in PAGES if page not in TESTED_ELSEWHERE and python_blocks(page)]


def test_the_first_page_shows_code_that_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in python_blocks("README.md"):
        exec(block, {"__name__": "block"})


@rare
def test_the_pages_of_the_project_show_code_that_runs(tmp_path):
    # All pages run in one process. Each has its own folder, and each block its own names.
    for page in WITH_CODE:
        (tmp_path / page).mkdir(parents=True)
    run(
        f"import os, sys\n"
        f"for page, blocks in { ({page: python_blocks(page) for page in WITH_CODE})!r}.items():\n"
        f"    os.chdir(os.path.join({str(tmp_path)!r}, page))\n"
        "    print('The blocks of', page, file=sys.stderr)\n"
        "    for block in blocks: exec(block, {'__name__': 'block'})\n",
        tmp_path,
    )


# Each line is an error of mypy.
WRONG_ARGUMENTS = """
import calib
y, p = [0, 1], [0.2, 0.7]
calib.metrics.auc(y, p, bins=3)
calib.metrics.expected_calibration_error(y, p, n_bins="15")
calib.metrics.log_loss(y, p, sample_weight=calib)
calib.metrics.ks_top_1(calib.ScoreCells.from_arrays(y, p))
calib.metrics.ks_test(y, p).value
calib.metrics.auc(y, p, [1.0, 2.0])
""".lstrip()


@rare
def test_type_checkers_accept_a_tutorial_and_find_wrong_arguments(tmp_path):
    code = "\n".join(python_blocks("docs/tutorial-choose.md"))
    (tmp_path / "tutorial.py").write_text(code)
    (tmp_path / "wrong.py").write_text(WRONG_ARGUMENTS)
    options = ["--strict", "--config-file", ROOT / "pyproject.toml"]
    options += ["--cache-dir", ROOT / ".mypy_cache", "--follow-imports", "silent"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *sorted(tmp_path.glob("*.py"))],
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line.partition(": error: ")[0] for line in done.stdout.splitlines()]
    found = {Path(place).name for place in errors if place.endswith(tuple("0123456789"))}
    assert found == {f"wrong.py:{line}" for line in range(3, 9)}, done.stdout + done.stderr


@rare
def test_the_notebook_runs_from_top_to_bottom_and_holds_no_outputs(tmp_path):
    cells = json.loads((ROOT / "docs/notebook.ipynb").read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    run("\n".join("".join(cell["source"]) for cell in code), tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"map.json", "report.html"}


def test_the_site_has_every_page_and_its_api_every_public_name():
    site = (ROOT / "mkdocs.yml").read_text()
    pages = [page.removeprefix("docs/") for page in PAGES[1:]]
    assert [page for page in pages if f" {page}\n" not in site] == []
    table = (ROOT / "docs/index.md").read_text()
    assert [page for page in pages if page != "index.md" and f"({page})" not in table] == []
    api = with_metrics((ROOT / "docs/api.md").read_text())
    listed = set(re.findall(r"^::: calib\.(?:.*\.)?(\w+)$", api, re.MULTILINE))
    modules = {"decisions", "examples", "metrics", "periods", "plot", "slices"}
    assert set(calib.__all__) - modules - listed == set()
    assert set(METRICS) - listed == set()


def test_the_site_shows_a_report_that_needs_no_server():
    assert f"({PLACE})" in (ROOT / "docs/index.md").read_text()
    html = example_report()
    assert "overconfident" in html
    # The browser draws the explorer from the script and the counts of the file.
    assert "mount(" in html
    assert set(re.findall(r"https?://[^/\"']*", html)) <= {"http://www.w3.org"}
    assert example_report() == html


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
