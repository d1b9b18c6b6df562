"""Pages of the documentation: one table lists them, and figures for users fit on one screen."""

import re
from pathlib import Path

from calib.calibrators import CALIBRATORS
from calib.metrics import METRICS

DOCS = Path(__file__).parents[2] / "docs"
MAX_FIGURES = 25


def rows(page: str) -> list[str]:
    """The rows of all tables of a page, without headings."""
    text = (DOCS / page).read_text(encoding="utf-8")
    tables = re.findall(r"^\|.*\n\| ---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    return "".join(tables).splitlines()


def test_one_table_has_a_line_for_every_page() -> None:
    pages = {path.name for path in DOCS.iterdir() if path.suffix in (".md", ".txt", ".ipynb")}
    linked = [link for row in rows("index.md") for link in re.findall(r"^\| \[.*?\]\((\S+)\)", row)]
    assert sorted(linked) == sorted(pages - {"index.md"})


def test_users_see_few_figures() -> None:
    assert len(rows("performance.md")) <= MAX_FIGURES


def test_one_table_has_every_metric_and_calibrator() -> None:
    keys = re.findall(r"^\| \[.*\| `(\w+)` \|", "\n".join(rows("definitions.md")), re.MULTILINE)
    assert sorted(keys) == sorted([*METRICS, *CALIBRATORS])
