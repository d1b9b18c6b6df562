"""A report as one HTML page, which needs no network and can be read without scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from calib.blocks.kinds import Paragraph, ReportDocument
from calib.figures import answer, explorer


def to_html(document: ReportDocument) -> str:
    style, script = answer.style() + _file("style.css"), ""
    first = [document.answer.html()] if document.answer else []
    first.append(_contents(document))
    if document.explorer is not None:
        style += explorer.style()
        script = explorer.script() + _file("explore.js")
        first.append(_explorer(document.explorer()))
    parts = {
        "title": escape(document.heading),
        "style": style,
        "header": _header(document),
        "sections": "\n".join((*first, *(section.html() for section in document.sections))),
        "script": f'<script type="module">{script}</script>' if script else "",
        # The policy allows exactly these texts of script and style.
        "policy": f"script-src {_hash(script)}; style-src {_hash(style)}",
        "version": escape(document.version),
        "contains": escape(document.contains),
    }
    return Template(_file("page.html")).substitute(parts)


def framed(page: str) -> str:
    """A page in a frame, for notebooks. Its script can run and cannot reach anything else."""
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{escape(page)}" title="Calibration report" '
        'width="100%" height="900" style="border: 0"></iframe>'
    )


def _hash(text: str) -> str:
    """A text of script or style, as a content security policy names it."""
    if not text:
        return "'none'"
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


WITHOUT_FOLDS = (
    "Calibrated values have no interval here, because a report does not contain the calibrators of "
    "each fold. The Reliability page shows it."
)


def _explorer(data: Mapping[str, Any]) -> str:
    """A section that its script makes visible, so that it is hidden without scripts."""
    merged = (
        "It counts groups of at least ten rows, so that numbers of other bins than the report's "
        "own are approximate."
    )
    cells = base64.b64encode(explorer.compressed(data)).decode("ascii")
    return (
        '<section id="explore" hidden><h2>Explore</h2>'
        "<p>Move the bins, choose methods and axes, or drag over a panel to select a range of "
        f"scores. {merged if data['merged'] else ''} {WITHOUT_FOLDS}</p>"
        '<div id="explorer"></div>'
        f'<script type="text/plain" id="cells">{cells}</script></section>'
    )


def _file(name: str) -> str:
    return (files("calib.reports.render") / name).read_text(encoding="utf-8")


def _header(document: ReportDocument) -> str:
    note = Paragraph(document.note).html() if document.note else ""
    facts = document.facts.html() if document.facts else ""
    return (
        f"<h1>{escape(document.heading)}</h1>\n"
        f'<p class="made">{escape(document.made)}</p>\n{facts}\n{note}'
    )


def _contents(document: ReportDocument) -> str:
    """Links to the sections, below the answer, which has the first place."""
    links = "".join(
        f'<li><a href="#{escape(section.anchor)}">{escape(section.title)}</a></li>'
        for section in document.sections
    )
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'
