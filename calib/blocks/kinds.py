"""The blocks of plain text that reports and pages are made of, each as HTML and Markdown."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape as in_html
from typing import Any

import pandas as pd

from calib.analysis import Analysis
from calib.analysis.judge import JudgeNumbers
from calib.analysis.summary import Parts
from calib.figures import Chart, answer, judged
from calib.figures.summary import summary_chart
from calib.figures.svg import to_svg
from calib.words import checks, overview
from calib.words.checks import Check
from calib.words.measures import undrawn

# These characters make links, images, HTML, emphasis, code, tables or mathematics anywhere in a
# line.
SPECIAL = re.compile(r"[\\`*_{}\[\]<>|~&$!#@^]|:(?=//)|(?<=www)\.", re.IGNORECASE)
BLANK = r"\_\_\_\_\_\_\_\_"
# These make a heading, a list, a rule or a quotation at the beginning of a line.
LEADING = re.compile(r"^(\d*)([-+=.)])(?=\s|[-=]|$)")
JUDGED_SCORES = "The judge's scores on the labelled rows:"


def in_markdown(text: str) -> str:
    """Text on one line that Markdown shows unchanged.

    >>> print(in_markdown("![](http://x) <b> a|b"), in_markdown("- item"))
    \\!\\[\\](http\\://x) \\<b\\> a\\|b \\- item
    """
    line = " ".join(text.split())
    return LEADING.sub(r"\1\\\2", SPECIAL.sub(lambda match: "\\" + match[0], line))


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section."""

    text: str

    def html(self) -> str:
        return f"<h3>{in_html(self.text)}</h3>"

    def markdown(self) -> str:
        return f"### {in_markdown(self.text)}"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; a lead is the sentence that matters most in its section.

    `about` stands before the text, such as the method that the text is about.
    """

    text: str
    lead: bool = False
    about: str = ""

    def html(self) -> str:
        kind = ' class="lead"' if self.lead else ""
        about = f"<b>{in_html(self.about)}</b>: " if self.about else ""
        return f"<p{kind}>{about}{in_html(self.text)}</p>"

    def markdown(self) -> str:
        about = f"**{in_markdown(self.about)}**: " if self.about else ""
        return f"**{in_markdown(self.text)}**" if self.lead else about + in_markdown(self.text)


@dataclass(frozen=True, slots=True)
class Note:
    """Small print. A warning stands out. On a page, `help` is a tooltip."""

    text: str
    warning: bool = False
    help: str = ""

    def html(self) -> str:
        return f'<p class="{"warning" if self.warning else "note"}">{in_html(self.text)}</p>'

    def markdown(self) -> str:
        return in_markdown(self.text)


@dataclass(frozen=True, slots=True)
class Bullets:
    items: tuple[str, ...]

    def html(self) -> str:
        items = "".join(f"<li>{in_html(item)}</li>" for item in self.items)
        return f"<ul>{items}</ul>"

    def markdown(self) -> str:
        return "\n".join(f"- {in_markdown(item)}" for item in self.items)


@dataclass(frozen=True, slots=True)
class Fold:
    """How to read what stands above. A page folds it; on paper it is small print."""

    items: tuple[str, ...]
    about: str = ""

    def html(self) -> str:
        return Bullets(self.items).html().replace("<ul>", '<ul class="note">', 1)

    def markdown(self) -> str:
        return Bullets(self.items).markdown()


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and their values. A value that is missing is left blank, to be filled in by hand."""

    items: tuple[tuple[str, str], ...]

    def html(self) -> str:
        items = "".join(
            f"<div><dt>{in_html(name)}</dt><dd>{in_html(value)}</dd></div>"
            for name, value in self.items
        )
        return f"<dl>{items}</dl>"

    def markdown(self) -> str:
        return "\n".join(
            f"- {in_markdown(name)}: {in_markdown(value) or BLANK}" for name, value in self.items
        )


@dataclass(frozen=True, slots=True)
class Value:
    """A cell of a table: a number, its interval, and whether the row stands out for it."""

    text: str
    # Several details below the number get one line each, so that the column stays narrow.
    detail: str = ""
    marked: bool = False
    # A last line below, in the colour of what is miscalibrated.
    warning: str = ""
    # On a page the rows can be sorted by this number, and this SVG of it stands in front of it.
    order: float | None = None
    drawn: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines below the number, in order."""
        return [*self.detail.splitlines(), *([self.warning] if self.warning else [])]

    @property
    def detail_in_one_line(self) -> str:
        return ", ".join(filter(None, self.lines))

    def html(self) -> str:
        details = "".join(f"<small>{in_html(line)}</small>" for line in self.lines if line)
        return f"<span>{in_html(self.text)}</span>{details}"

    def markdown(self) -> str:
        text = f"**{in_markdown(self.text)}**" if self.marked else in_markdown(self.text)
        return f"{text} ({in_markdown(self.detail_in_one_line)})" if self.lines else text


@dataclass(frozen=True, slots=True)
class Action:
    """A button of a row. A page gets its `value` when it is pressed; paper has no buttons.

    A screen reader says `about` in place of the label.
    """

    value: str
    label: str
    about: str = ""


def row(*cells: str | Value) -> tuple[Value, ...]:
    """A row of a table, of texts and of values with details."""
    return tuple(cell if isinstance(cell, Value) else Value(cell) for cell in cells)


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its first `n_text` columns hold text and the others numbers.

    `meanings` are of columns and `hints` of rows, as tooltips; `actions` are of rows, too. On a
    page the table's element and its CSV file have this `name`, and the file has the numbers of
    `exact`, if it is given and a person asks for all digits. A row of a page opens what `opened`
    has for it; `is_open` are the numbers of rows that are open at first.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    n_text: int = 1
    meanings: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    actions: tuple[Action | None, ...] = ()
    hints: tuple[str, ...] = ()
    exact: pd.DataFrame | None = field(default=None, compare=False)
    opened: tuple[tuple[Text, ...], ...] = ()
    is_open: frozenset[int] = frozenset()
    drawn_head: str = ""  # On a page it stands above what the cells of a column draw.

    def html(self) -> str:
        kinds = ["text" if i < self.n_text else "number" for i in range(len(self.head))]
        # A screen reader would announce an empty header cell.
        head = "".join(
            f'<th scope="col" class="{kind}"{self._tooltip(name)}>{in_html(name)}</th>'
            if name
            else f'<td class="{kind}"></td>'
            for kind, name in zip(kinds, self.head, strict=True)
        )
        body = "\n".join(_html_row(row, kinds) for row in self.rows)
        return (
            f'<div class="table" tabindex="0" role="region" aria-label="{in_html(self.caption)}">'
            f"<table>\n<caption>{in_html(self.caption)}</caption>\n"
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
        )

    def _tooltip(self, name: str) -> str:
        return f' title="{in_html(self.meanings[name])}"' if self.meanings.get(name) else ""

    def markdown(self) -> str:
        rules = ["---" if i < self.n_text else "---:" for i in range(len(self.head))]
        rows = [[*map(in_markdown, self.head)], rules]
        rows += [[value.markdown() for value in row] for row in self.rows]
        lines = (f"| {' | '.join(cells)} |" for cells in rows)
        return "\n".join([in_markdown(self.caption), "", *lines])


def _html_row(row: tuple[Value, ...], kinds: list[str]) -> str:
    first, *others = [value.html() for value in row]
    marked = ' class="marked"' if any(value.marked for value in row) else ""
    cells = "".join(
        f'<td class="{kind}">{cell}</td>' for kind, cell in zip(kinds[1:], others, strict=True)
    )
    return f'<tr{marked}><th scope="row" class="{kinds[0]}">{first}</th>{cells}</tr>'


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of Python, of a shell or of JSON."""

    text: str

    def html(self) -> str:
        return f"<pre><code>{in_html(self.text)}</code></pre>"

    def markdown(self) -> str:
        # The lines are indented and not fenced, because no text inside can end an indented block.
        return "\n".join(f"    {line}".rstrip() for line in self.text.split("\n"))


@dataclass(frozen=True, slots=True)
class Attachment:
    """A small file of JSON, which a reader can download."""

    name: str
    content: str

    def html(self) -> str:
        data = base64.b64encode(self.content.encode()).decode("ascii")
        link = f'download="{in_html(self.name)}" href="data:application/json;base64,{data}"'
        return f"<p><a {link}>Download {in_html(self.name)}</a></p>"

    def markdown(self) -> str:
        return f"{in_markdown(self.name)}:\n\n{Code(self.content.rstrip()).markdown()}"


@dataclass(frozen=True, slots=True)
class Tabs:
    """A table per method: in tabs on a page, below each other on paper."""

    name: str  # It is part of the names of elements and files.
    tables: Mapping[str, Table]  # The keys are labels.

    def on_tabs(self) -> Iterator[Table]:
        """The tables with their labels in the names."""
        for label, table in self.tables.items():
            yield replace(table, name=f"{self.name}, {label}")

    def captioned(self) -> Iterator[Table]:
        """The tables with their labels in the captions, because paper has no tabs."""
        for label, table in self.tables.items():
            yield replace(table, caption=f"{self.name}, {label}. {table.caption}".strip())

    def html(self) -> str:
        return "\n".join(table.html() for table in self.captioned())

    def markdown(self) -> str:
        return "\n\n".join(table.markdown() for table in self.captioned())


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart. On a page `name` is part of its element's name.

    With `has_rows` it has a row per method or slice, whose text keeps its size at every width.
    """

    chart: Chart
    name: str = ""
    has_rows: bool = False

    def html(self) -> str:
        # On a phone the chart scrolls like a wide table, because it could not be read if it were
        # shrunk.
        wide = "" if self.chart.is_square else ' class="wide" tabindex="0"'
        return f"<figure{wide}>{to_svg(self.chart)}</figure>"

    def markdown(self) -> str:
        return f"Chart: {in_markdown(self.chart.alt)}"


@dataclass(frozen=True, slots=True)
class Beside:
    """Charts beside each other, or below each other if there is not enough space."""

    drawings: tuple[Drawing, ...]

    def html(self) -> str:
        return f'<div class="beside">{"".join(drawing.html() for drawing in self.drawings)}</div>'

    def markdown(self) -> str:
        return "\n\n".join(drawing.markdown() for drawing in self.drawings)


@dataclass(frozen=True, slots=True)
class Annotated:
    """A chart, and what is said beside it."""

    drawing: Drawing
    notes: tuple[Block, ...]

    def html(self) -> str:
        notes = "\n".join(block.html() for block in self.notes)
        return f'<div class="annotated">{self.drawing.html()}\n<div>{notes}</div></div>'

    def markdown(self) -> str:
        return "\n\n".join(block.markdown() for block in (self.drawing, *self.notes))


Text = Heading | Paragraph | Note | Bullets | Fold | Facts | Code | Attachment
Block = Text | Table | Tabs | Drawing | Beside | Annotated


def parts(blocks: Iterable[Block]) -> Iterator[Block]:
    """All blocks, one by one: tables of tabs, and charts with what stands beside them."""
    for block in blocks:
        match block:
            case Tabs():
                yield from block.captioned()
            case Beside():
                yield from block.drawings
            case Annotated():
                yield block.drawing
                yield from parts(block.notes)
            case _:
                yield block


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """The target of its link in the list of contents."""
        return re.sub(r"\W+", "-", self.title.lower())

    def html(self) -> str:
        body = "\n".join(block.html() for block in self.blocks)
        return (
            f'<section id="{in_html(self.anchor)}">\n'
            f"<h2>{in_html(self.title)}</h2>\n{body}\n</section>"
        )

    def markdown(self) -> str:
        blocks = (block.markdown() for block in self.blocks)
        return "\n\n".join([f"## {in_markdown(self.title)}", *blocks])


@dataclass(frozen=True, slots=True)
class Answer:
    """The first screen of a report: what Overview shows, and what limits it most."""

    analysis: Analysis
    is_example: bool
    caveat: str
    # The report of a judge begins with its pass rate. The analysis is of the labelled rows.
    judge: JudgeNumbers | None = None
    # Which slices and periods of the report hold, before and after.
    parts: Parts = field(default_factory=Parts)

    @property
    def chart(self) -> Chart | None:
        """None if there are too few rows for a chart."""
        return None if self.undrawn else summary_chart(self.analysis)

    @property
    def undrawn(self) -> str:
        return undrawn(self.analysis.uncalibrated.reliability)

    @property
    def checks(self) -> list[Check]:
        """Whether the answer holds, as far as a report knows."""
        if not answer.is_answered(self.analysis):
            return []
        parts = self.parts
        tested = [checks.of_parts(parts, of_time=of_time) for of_time in (False, True)]
        is_known = bool(parts.before)
        return [*(tested if is_known else []), checks.of_ranking(self.analysis, parts)]

    def html(self) -> str:
        analysis = self.analysis
        drawn = Paragraph(self.undrawn).html() if self.undrawn else answer.summary(analysis)
        judge = heading = ""
        if self.judge is not None:
            judge = f'<section id="judge">{judged.section(self.judge)}</section>'
            heading = f'<p class="eyebrow">{in_html(JUDGED_SCORES)}</p>'
        finding = answer.section(analysis, is_example=self.is_example, parts=self.parts)
        return (
            f'{judge}<section id="verdict">{heading}{finding}'
            f'<div class="evidence"><div>{drawn}</div><div>{answer.advice(analysis)}'
            f"{answer.small_print(analysis, finding=True)}{answer.holds(self.checks)}"
            f"{answer.calibrators(analysis, is_open=True)}"
            f'<p class="reasons">{in_html(self.caveat)}</p></div></div></section>'
        )

    def markdown(self) -> str:
        analysis = self.analysis
        sentences = (analysis.verdict.sentence, analysis.recommendation.sentence)
        counted = (one.sentence(analysis.words.positive) for one in overview.counts(analysis))
        reasons = " ".join(overview.evidence(analysis))
        details = (" ".join(counted), reasons, self.caveat, self.undrawn)
        return "\n\n".join(
            [
                *(self._judge_markdown(self.judge) if self.judge else ()),
                "## Verdict",
                *([in_markdown(JUDGED_SCORES)] if self.judge else []),
                *(Paragraph(sentence, lead=True).markdown() for sentence in sentences),
                *map(in_markdown, filter(None, details)),
                *([Drawing(self.chart).markdown()] if self.chart else []),
            ]
        )

    @staticmethod
    def _judge_markdown(numbers: JudgeNumbers) -> tuple[str, ...]:
        facts = tuple(
            (label, f"{value} ({below})") for label, value, below, _ in judged.key_numbers(numbers)
        )
        first = (Paragraph(numbers.headline, lead=True), Paragraph(judged.lead(numbers)))
        return "## Judge", *(block.markdown() for block in (*first, Facts(facts)))


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """Everything that is printed, in order: a report, or two compared."""

    # `made` says who made the document, and when.
    heading: str
    made: str
    facts: Facts | None  # The head of the document shows these.
    note: str
    sections: tuple[Section, ...]
    version: str  # This version of calib made the numbers.
    contains: str  # This sentence says what the report contains about single rows.
    # It makes the data of `calib.figures.explorer`. A comparison of two reports has none.
    explorer: Callable[[], Mapping[str, Any]] | None = None
    answer: Answer | None = None

    def markdown(self) -> str:
        head = [f"# {in_markdown(self.heading)}", in_markdown(self.made)]
        head += [self.facts.markdown()] if self.facts else []
        head += [in_markdown(self.note)] if self.note else []
        head += [self.answer.markdown()] if self.answer else []
        return "\n\n".join([*head, *(section.markdown() for section in self.sections)]) + "\n"
