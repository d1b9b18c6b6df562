"""The workflow runs what every change must pass, and the issue forms ask for what is needed."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github"
# A form that has another type, or a field without a label, is not shown by GitHub.
TYPES = {"markdown", "input", "textarea", "dropdown", "checkboxes"}
REQUIRED = {
    "wrong-number": {"file", "page", "value", "expected", "source", "version"},
    "new-metric": {"name", "question", "definition", "source", "known_value"},
}


def read(path: Path) -> Any:
    return pytest.importorskip("yaml").safe_load(path.read_text(encoding="utf-8"))


def test_the_workflow_runs_ci_on_every_python_of_the_wheel():
    (job,) = read(FOLDER / "workflows" / "ci.yml")["jobs"].values()
    checkout, python, run = job["steps"]
    assert checkout["uses"].startswith("actions/checkout@")
    assert run == {"run": ".ci/run"}
    versions = re.search(r"set -- ([0-9. ]+)$", (ROOT / ".ci" / "wheel").read_text(), re.MULTILINE)
    assert versions is not None
    assert sorted(python["with"]["python-version"].split()) == versions[1].split()


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_an_issue_form_is_shown_and_asks_what_is_needed(name):
    form = read(FOLDER / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert {"name", "description", "body"} <= form.keys()
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in form["body"]} <= TYPES
    assert all(field["attributes"]["label"] for field in fields)
    ids = [field["id"] for field in fields]
    assert len(set(ids)) == len(ids)
    needed = {f["id"] for f in fields if f.get("validations", {}).get("required")}
    assert needed == REQUIRED[name]


def test_every_form_is_tried():
    assert {file.stem for file in (FOLDER / "ISSUE_TEMPLATE").iterdir()} == REQUIRED.keys()
