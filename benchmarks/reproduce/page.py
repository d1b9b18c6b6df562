"""docs/reproductions.md, written from the rows of all studies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from types import ModuleType

from benchmarks.reproduce.published import Rows, Study, load
from benchmarks.reproduce.tables import plain_table

WIDTH = 100
HEAD = """# Reproductions

Published results and our reproductions of them. `make reproduce` writes this page, its
tables (docs/reproductions/*.csv: every number with its protocol) and its pictures. Data are read
from ../shared/data; the six UCI sets are downloaded from OpenML if they are not there. If the data
of a part are missing, the part stays as it is. Tests check the numbers against their tolerances.

"Allowed" is the largest accepted difference from the published number; ≤ means that a loss may also
be lower by any amount. An empty cell was not published, or need not agree: the text says why.
"""


def write(papers: Mapping[str, ModuleType], page: Path, folder: Path) -> None:
    """Write the page from the files of rows that are in the folder."""
    parts = [HEAD, _contents(papers)]
    for paper in papers.values():
        parts.append(f"## {paper.TITLE}\n\n{_wrapped(paper.SOURCE)}")
        parts += [_study(study, folder) for study in paper.STUDIES]
    page.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")


def _contents(papers: Mapping[str, ModuleType]) -> str:
    return "\n".join(f"- [{paper.TITLE}](#{_anchor(paper.TITLE)})" for paper in papers.values())


def _anchor(title: str) -> str:
    """GitHub's name of a heading.

    Examples
    --------
    >>> _anchor("The ECE, worked (twice)")
    'the-ece-worked-twice'
    """
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -")
    return kept.replace(" ", "-")


def _study(study: Study, folder: Path) -> str:
    file = folder / f"{study.key}.csv"
    if not file.is_file():
        return f"### {study.title}\n\nNot measured yet: its data were absent."
    rows = load(file)
    table = study.table(rows) if study.table else plain_table(rows)
    parts = [f"### {study.title}", table]
    parts += [_wrapped(text) for text in (*_protocols(rows), study.tell(rows))]
    parts += [
        f"![{alt}]({folder.name}/{name}.svg)"
        for name, alt in study.pictures.items()
        if (folder / f"{name}.svg").is_file()
    ]
    return "\n\n".join(parts)


def _wrapped(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _protocols(rows: Rows) -> list[str]:
    return [f"Protocol: {said}" for said in dict.fromkeys(row.protocol for row in rows.values())]
