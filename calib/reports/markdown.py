"""A report as Markdown: the same sections and tables, without charts."""

from __future__ import annotations

import re
from functools import singledispatch

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

# What makes links, images, HTML, emphasis, code, tables or mathematics anywhere in a line ...
SPECIAL = re.compile(r"[\\`*_{}\[\]<>|~&$!#@^]|:(?=//)|(?<=www)\.", re.IGNORECASE)
# ... and what makes a heading, a list, a rule or a quotation where a line begins.
LEADING = re.compile(r"^(\d*)([-+=.)])(?=\s|[-=]|$)")


def to_markdown(document: ReportDocument) -> str:
    """The whole document."""
    head = [f"# {escaped(document.heading)}", escaped(document.made)]
    head += [_render(document.facts)] if document.facts else []
    note = [escaped(document.note)] if document.note else []
    return "\n\n".join([*head, *note, *map(_section, document.sections)]) + "\n"


def escaped(text: str) -> str:
    """Text on one line that Markdown shows unchanged.

    >>> print(escaped("![](http://x) <b> a|b"), escaped("- item"))
    \\!\\[\\](http\\://x) \\<b\\> a\\|b \\- item
    """
    line = " ".join(text.split())
    return LEADING.sub(r"\1\\\2", SPECIAL.sub(lambda found: "\\" + found[0], line))


def _section(section: Section) -> str:
    return "\n\n".join([f"## {escaped(section.title)}", *map(_render, section.blocks)])


@singledispatch
def _render(block: Block) -> str:
    raise TypeError(f"no Markdown for {block!r}.")


@_render.register
def _(block: Paragraph) -> str:
    return f"**{escaped(block.text)}**" if block.lead else escaped(block.text)


@_render.register
def _(block: Bullets) -> str:
    return "\n".join(f"- {escaped(item)}" for item in block.items)


@_render.register
def _(block: Facts) -> str:
    return "\n".join(f"- {escaped(name)}: {escaped(value)}" for name, value in block.items)


@_render.register
def _(block: Table) -> str:
    rules = ["---" if i < block.n_text else "---:" for i in range(len(block.head))]
    lines = [_line(list(map(escaped, block.head))), _line(rules)]
    lines += [_line([_value(value) for value in row]) for row in block.rows]
    return "\n".join([escaped(block.caption), "", *lines])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _value(value: Value) -> str:
    text = f"**{escaped(value.text)}**" if value.marked else escaped(value.text)
    return f"{text} ({escaped(value.detail_in_one_line)})" if value.detail else text


@_render.register
def _(block: Code) -> str:
    # Indented, not fenced: no text inside can end it.
    return "\n".join(f"    {line}".rstrip() for line in block.text.split("\n"))


@_render.register
def _(block: Beside) -> str:
    return "\n\n".join(map(_render, block.drawings))


@_render.register
def _(block: Drawing) -> str:
    return f"Chart: {escaped(block.chart.alt)}"
