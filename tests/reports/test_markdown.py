import pytest
from markdown_it import MarkdownIt

from calib.blocks.kinds import in_markdown
from tests.reports.conftest import HOSTILE

# The reader allows tables and HTML, as GitHub does, so text that is not escaped becomes visible.
READER = MarkdownIt("commonmark", {"html": True}).enable("table")


def tokens(text):
    for token in READER.parse(text):
        yield token
        yield from token.children or []


def test_the_numbers_are_in_tables(report, analysis):
    rows = [line for line in report.markdown().splitlines() if "Isotonic" in line]
    value = analysis.methods["isotonic"].metrics["log_loss"].value
    assert any(f"| {value:.4f} (" in row for row in rows)


@pytest.mark.parametrize("kind", ["report", "hostile_report"])
def test_tables_keep_their_columns(kind, request):
    n_cells, widths = 0, set()
    for token in READER.parse(request.getfixturevalue(kind).markdown()):
        n_cells += token.type in ("th_open", "td_open")
        if token.type == "tr_close":
            widths.add(n_cells)
            n_cells = 0
    # The tables are settings, calibrators, differences, calibration errors, metrics and bins.
    assert widths == {3, 4, 5, 6, 7}


def test_hostile_text_makes_no_markup(hostile_report):
    kinds = {token.type for token in tokens(hostile_report.markdown())}
    assert not kinds & {"html_inline", "html_block", "image", "link_open", "code_inline", "fence"}
    headings = [t for t in tokens(hostile_report.markdown()) if t.type == "heading_open"]
    assert sorted({t.tag for t in headings}) == ["h1", "h2"]
    assert sum(t.tag == "h1" for t in headings) == 1


@pytest.mark.parametrize(
    "text", [*HOSTILE, "- a", "1. a", "---", "===", "> a", "# a", "+ a", "2) a"]
)
def test_escaped_text_reads_as_it_was(text):
    paragraph, inline, _ = READER.parse(in_markdown(text))
    assert paragraph.type == "paragraph_open"
    assert {child.type for child in inline.children} <= {"text", "text_special"}
    assert "".join(child.content for child in inline.children) == " ".join(text.split())


def test_bare_addresses_are_broken_up():
    assert in_markdown("http://a.b www.c.d e@f.g") == r"http\://a.b www\.c.d e\@f.g"
