"""A report as one self-contained HTML page: no request leaves it, and it reads without scripts."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
from functools import cache, singledispatch
from html import escape
from importlib.resources import files
from string import Template

from calib.figures import CONFIG, for_report
from calib.figures.images import plotly_js
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
    parts = {
        "title": escape(document.heading),
        "style": _file("style.css"),
        "header": _header(document),
        "sections": "\n".join(map(_section, document.sections)),
        "plotly": _plotly(),
        "script": _file("charts.js"),
        "config": _for_script(CONFIG),
        "version": escape(document.version),
        "contains": escape(document.contains),
    }
    return Template(_file("page.html")).substitute(parts)


def _file(name: str) -> str:
    return (files("calib.reports") / name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    # mtime=0: the same bytes every time.
    return base64.b64encode(gzip.compress(plotly_js().encode(), 9, mtime=0)).decode("ascii")


def _for_script(value: Mapping[str, object] | str) -> str:
    """JSON that cannot end the script element that holds it."""
    text = value if isinstance(value, str) else json.dumps(dict(value), sort_keys=True)
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
    # A header without words would be read out as one.
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
    chart = block.chart
    alt = escape(chart.alt)
    drawn = _for_script(for_report(chart).to_json(engine="json"))
    square = " data-square" if chart.is_square else ""
    return (
        f'<figure style="max-width: {chart.width}px">'
        f'<div class="plot"{square} data-name="{escape(chart.name)}" role="group" '
        f'aria-label="{alt}" style="height: {chart.height}px"></div>'
        f'<script type="application/json">{drawn}</script>'
        f"<figcaption>{alt}</figcaption></figure>"
    )
