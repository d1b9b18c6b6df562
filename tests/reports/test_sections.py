import pytest

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.reports import Report
from calib.reports.render.blocks import Beside, Drawing, Paragraph, Section, Table
from calib.reports.render.sections import sections
from tests.reports.conftest import MOMENT, overconfident


def made(n: int = 400, **settings) -> Report:
    predictions = Predictions.from_arrays(*overconfident(n))
    return Report.from_analysis(analyze(predictions, Settings(**settings)), created=MOMENT)


def section(report: Report, title: str) -> Section:
    return {section.title: section for section in sections(report)}[title]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("no", "the model was trained on these rows"),
        ("unknown", "not confirmed"),
        ("yes", "parts of the same file"),
    ],
)
def test_one_caveat_by_what_was_declared(analysis, declared, words):
    report = Report.from_analysis(analysis, held_out_declared=declared)
    text = section(report, "Verdict").blocks[3]
    assert isinstance(text, Paragraph)
    assert words in text.text


def test_scores_alone_are_shown_without_a_comparison():
    report = made(methods=())
    assert any(isinstance(block, Beside) for block in section(report, "Verdict").blocks)
    kinds = [type(block) for block in section(report, "Methods compared").blocks]
    assert Drawing not in kinds
    assert kinds.count(Table) == 2  # There are metrics and calibration errors, but no differences.


def test_where_nothing_is_recommended_the_best_is_shown():
    report = made(80, methods=("platt",))
    assert report.analysis.recommendation.method == ""
    captions = [block.caption for block in section(report, "Bins").blocks]
    assert [caption.split(":")[0] for caption in captions] == ["Uncalibrated", "Platt"]


def test_the_recommended_row_is_marked(report):
    blocks = section(report, "Methods compared").blocks
    table = next(block for block in blocks if isinstance(block, Table))
    marked = [row[0].text for row in table.rows if row[0].marked]
    assert marked == [report.analysis.methods[report.analysis.recommendation.method].label]


def test_the_answer_comes_first_and_the_settings_last(report):
    first, *_ = sections(report)
    analysis = report.analysis
    said = [block.text for block in first.blocks if isinstance(block, Paragraph) and block.lead]
    assert said == [analysis.verdict.sentence, analysis.recommendation.sentence]
    table = next(block for block in first.blocks if isinstance(block, Table))
    assert [row[0].text for row in table.rows] == [method.label for method in report.shown]
    titles = [part.title for part in sections(report)]
    assert titles[-4:] == [
        "Data and model", "Settings", "How to reproduce this", "How to verify this"
    ]  # fmt: skip


def test_warnings_are_near_the_top_or_nowhere(report):
    assert not report.warnings
    assert "Warnings" not in [part.title for part in sections(report)]
    few = made(15, methods=())
    assert few.warnings
    assert sections(few)[1].title == "Warnings"


def test_the_contents_list_leads_to_every_section(report):
    page = report.html()
    for part in sections(report):
        assert f'<a href="#{part.anchor}">{part.title}</a>' in page
        assert f'<section id="{part.anchor}">' in page
