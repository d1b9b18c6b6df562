"""The tutorials run from top to bottom, and print what they show."""

import re
from pathlib import Path

import pytest

from tests import documents
from tests.rare import rare

DOCS = Path(__file__).parents[1] / "docs"
TUTORIALS = sorted(page.name for page in DOCS.glob("tutorial-*.md"))

# Processors differ in the last digits of a fit.
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


def numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def test_there_are_six() -> None:
    assert len(TUTORIALS) == 6


@rare
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_prints_what_it_shows(name, request, tmp_path, monkeypatch, capsys) -> None:
    page = DOCS / name
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALIB_HOME", str(tmp_path / "home"))
    ran, _ = documents.run(text, lambda: capsys.readouterr().out)
    if request.config.getoption("--update-golden"):
        page.write_text(ran, encoding="utf-8")
    else:
        assert NUMBER.sub("0", ran) == NUMBER.sub("0", text)
        assert numbers(ran) == pytest.approx(numbers(text), rel=1e-6)
