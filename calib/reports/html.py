"""A report as one self-contained HTML page: no request leaves it, and it reads without scripts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import singledispatch
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from calib.figures import explorer
from calib.figures.svg import to_svg
from calib.reports.blocks import (
    Beside,
    Block,
    Bullets,
    Code,
    Drawing,
    Facts,
    Paragraph,
    ReportDocument,
    Section,
    Table,
    Value,
)


def to_html(document: ReportDocument) -> str:
    """The whole page."""
    style, script = _file("style.css"), ""
    first, *others = map(_section, document.sections)
    if document.explorer is not None:
        style += explorer.style()
        script = explorer.script() + _file("explore.js")
        others.insert(0, _explorer(document.explorer))
    parts = {
        "title": escape(document.heading),
        "style": style,
        "header": _header(document),
        "sections": "\n".join((first, *others)),
        "script": f'<script type="module">{script}</script>' if script else "",
        # Only exactly these texts of script and style are allowed.
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
    """A section that a script unhides: without one, and on paper, it is not there."""
    merged = (
        "It counts groups of at least ten rows, so that numbers of other bins than the report's "
        "own are approximate."
    )
    return (
        '<section id="explore" hidden><h2>Explore</h2>'
        "<p>Move the bins, choose methods and axes, or drag over a panel to select a range of "
        f"scores. {merged if data['merged'] else ''} {WITHOUT_FOLDS}</p>"
        '<div id="explorer"></div>'
        f'<script type="application/json" id="cells">{_for_script(data)}</script></section>'
    )


def _file(name: str) -> str:
    return (files("calib.reports") / name).read_text(encoding="utf-8")


def _for_script(value: Mapping[str, object]) -> str:
    """JSON that cannot end the script element that holds it."""
    text = json.dumps(dict(value), separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _header(document: ReportDocument) -> str:
    note = _render(Paragraph(document.note)) if document.note else ""
    facts = _render(document.facts) if document.facts else ""
    contents = "".join(
        f'<li><a href="#{escape(section.anchor)}">{escape(section.title)}</a></li>'
        for section in document.sections
    )
    return (
        f"<h1>{escape(document.heading)}</h1>\n"
        f'<p class="made">{escape(document.made)}</p>\n{facts}\n{note}\n'
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav>'
    )


def _section(section: Section) -> str:
    body = "\n".join(map(_render, section.blocks))
    return (
        f'<section id="{escape(section.anchor)}">\n'
        f"<h2>{escape(section.title)}</h2>\n{body}\n</section>"
    )


@singledispatch
def _render(block: Block) -> str:
    raise TypeError(f"no HTML for {block!r}.")


@_render.register
def _(block: Paragraph) -> str:
    kind = ' class="lead"' if block.lead else ""
    return f"<p{kind}>{escape(block.text)}</p>"


@_render.register
def _(block: Bullets) -> str:
    items = "".join(f"<li>{escape(item)}</li>" for item in block.items)
    return f"<ul>{items}</ul>"


@_render.register
def _(block: Facts) -> str:
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in block.items
    )
    return f"<dl>{items}</dl>"


@_render.register
def _(block: Table) -> str:
    kinds = ["text" if i < block.n_text else "number" for i in range(len(block.head))]
    # A screen reader would announce an empty header cell.
    head = "".join(
        f'<th scope="col" class="{kind}">{escape(name)}</th>'
        if name
        else f'<td class="{kind}"></td>'
        for kind, name in zip(kinds, block.head, strict=True)
    )
    body = "\n".join(_row(row, kinds) for row in block.rows)
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="{escape(block.caption)}">'
        f"<table>\n<caption>{escape(block.caption)}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def _row(row: tuple[Value, ...], kinds: list[str]) -> str:
    first, *others = [_value(value) for value in row]
    marked = ' class="marked"' if any(value.marked for value in row) else ""
    cells = "".join(
        f'<td class="{kind}">{cell}</td>' for kind, cell in zip(kinds[1:], others, strict=True)
    )
    return f'<tr{marked}><th scope="row" class="{kinds[0]}">{first}</th>{cells}</tr>'


def _value(value: Value) -> str:
    details = "".join(f"<small>{escape(line)}</small>" for line in value.detail.splitlines())
    return f"<span>{escape(value.text)}</span>{details}"


@_render.register
def _(block: Code) -> str:
    return f"<pre><code>{escape(block.text)}</code></pre>"


@_render.register
def _(block: Beside) -> str:
    return f'<div class="beside">{"".join(map(_render, block.drawings))}</div>'


@_render.register
def _(block: Drawing) -> str:
    # On a phone it scrolls, as a wide table does: shrunk to the window it could not be read.
    wide = "" if block.chart.is_square else ' class="wide" tabindex="0"'
    return f"<figure{wide}>{to_svg(block.chart)}</figure>"
