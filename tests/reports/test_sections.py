import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from calib.analysis import analyze
from calib.blocks.kinds import Bullets, Drawing, Section, Table
from calib.calibrators import CALIBRATORS
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.loading.examples import EXAMPLES
from calib.reports import Report, ReportError
from calib.reports.render.sections import sections
from tests.reports.conftest import MOMENT, overconfident
from tests.reports.kept import KEPT


def made(n: int = 400, **settings) -> Report:
    predictions = Predictions.from_arrays(*overconfident(n))
    return Report.from_analysis(analyze(predictions, Settings(**settings)), created=MOMENT)


@pytest.fixture(scope="module")
def kept() -> Report:
    return Report.open(KEPT)


def section(report: Report, title: str) -> Section:
    return {section.title: section for section in sections(report)}[title]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("no", "The model was trained on these rows"),
        ("unknown", "not confirmed"),
        ("yes", "parts of the same file"),
    ],
)
def test_one_caveat_by_what_was_declared(analysis, declared, words):
    report = Report.from_analysis(analysis, held_out_declared=declared)
    caveat = report.document().answer.caveat
    assert words in caveat
    assert caveat in report.html().split("<nav")[0]
    limits = next(b for b in section(report, "Record").blocks if isinstance(b, Bullets))
    assert limits.items[0] == caveat


def test_scores_alone_are_shown_without_a_comparison():
    report = made(methods=())
    assert report.document().answer.chart is not None
    assert 'class="calibrators"' not in report.html()
    kinds = [type(block) for block in section(report, "Methods compared").blocks]
    assert Drawing not in kinds
    assert kinds.count(Table) == 2  # There are metrics and calibration errors, but no differences.


def test_tables_name_methods_in_full_and_have_the_order_of_their_losses():
    report = made(400, methods=("platt", "logistic", "stack"))
    labels = [report.analysis.methods[key].label for key in report.analysis.ranked]
    compared, fitted = section(report, "Methods compared"), section(report, "Fitted calibrators")
    tables = [block for block in (*compared.blocks, *fitted.blocks) if isinstance(block, Table)]
    assert len(tables) == 4
    for table in tables:
        rows = [row[0].text for row in table.rows]
        assert rows == [label for label in labels if label in rows]
    assert {"Platt scaling (on scores)", "Logistic (on log-odds)"} <= set(labels)
    assert not re.search(r"\bPlatt\b(?! scaling| 1999|'s)", report.markdown() + report.html())


def test_where_nothing_is_recommended_the_best_is_shown():
    report = made(40, methods=("platt",))
    assert report.analysis.recommendation.method == ""
    captions = [block.caption for block in section(report, "Bins").blocks]
    assert [caption.split(":")[0] for caption in captions] == [
        "Uncalibrated",
        "Platt scaling (on scores)",
    ]


def test_the_recommended_row_is_marked(report):
    blocks = section(report, "Methods compared").blocks
    table = next(block for block in blocks if isinstance(block, Table))
    marked = [row[0].text for row in table.rows if row[0].marked]
    assert marked == [report.analysis.methods[report.analysis.recommendation.method].label]


def test_the_answer_comes_first_and_the_settings_last(report, texts):
    page, analysis = report.html(), report.analysis
    first = page.split("<nav")[0]
    assert analysis.verdict.finding in unescape(first)
    assert all(reason in unescape(first) for reason in analysis.recommendation.reasons)
    assert first.count('<svg xmlns="http://www.w3.org/2000/svg" role="img" class="plot"') == 2
    titles = [part.title for part in sections(report)]
    assert titles[0] == "Record"
    texts("\n".join(titles[-4:]))


def test_the_record_names_what_a_validator_asks_first(kept, texts):
    facts, *_ = section(kept, "Record").blocks
    shown = dict(facts.items)
    assert shown["Prepared by"] == "Ada"
    assert shown["Reviewed by"] == shown["Sign-off (name, date)"] == ""
    assert shown["Model and its version"] == ""
    assert shown["Date"] == "1 June 2026, 09:05 UTC"
    texts(shown["Scores"])
    assert shown["Period of the data"] == "2024 to 2025 (column day)"
    assert shown["Positive class"].startswith("defaulted = 1 (")
    assert shown["Seed"] == "0"
    assert f"calib {kept.versions['calib']}" in shown["Software"]
    reviewed = kept.edited(reviewer="Bo", sign_off="Cy, 2 June 2026", model_version="PD 2.3")
    facts, *_ = section(reviewed, "Record").blocks
    assert dict(facts.items)["Reviewed by"] == "Bo"
    assert dict(facts.items)["Model and its version"] == "PD 2.3"
    assert dict(facts.items)["Sign-off (name, date)"] == "Cy, 2 June 2026"
    assert reviewed.title == kept.title


def test_the_record_of_an_example_of_many_classes():
    """Its scores are held out, and the positive rows of a view are described by their class."""
    rows = EXAMPLES["digits"].load()
    report = Report.from_analysis(analyze(rows, {"methods": (), "view": "class:3"}))
    facts, _, limitations = section(report, "Record").blocks
    share = np.mean(rows.outcome == 3)
    assert f"{share:.1%}" in dict(facts.items)["Positive class"]
    assert report.held_out_declared == "yes"
    assert "not confirmed" not in limitations.items[0]
    own = replace(rows, origin=None)
    other = Report.from_analysis(analyze(own, {"methods": (), "view": "class:3"}))
    assert other.held_out_declared == "unknown"


def test_the_record_says_which_limits_are_met(analysis, texts):
    def limits(**bounds: float) -> str:
        report = Report.open(Report.from_analysis(analysis, limits=bounds).json())
        facts, *_ = section(report, "Record").blocks
        return dict(facts.items)["Limits"]

    ks = analysis.uncalibrated.ks.statistic
    low = analysis.uncalibrated.metrics["ks_error"].low
    texts(limits())
    p = analysis.uncalibrated.ks.p_value
    met, exceeded = limits(max_ks=1.0, min_p=0.0), limits(max_ks=low / 2)
    assert all(fact in met for fact in (f"{ks:.6g}", f"{low:.3g}"))
    assert f"{p:.6g}" in met
    assert f"{low / 2:.6g}" in exceeded
    for bounds in ({"max_ks": 1.5}, {"max_brier": 0.1}):
        with texts.raises(ReportError):
            limits(**bounds)


def test_what_is_missing_can_be_filled_in_by_hand(kept):
    assert "<dt>Reviewed by</dt><dd></dd>" in kept.html()
    assert "- Reviewed by: \\_\\_" in kept.markdown()


def test_the_record_names_the_recommended_calibrator(report):
    facts, *_ = section(report, "Record").blocks
    method = report.analysis.methods[report.analysis.recommendation.method]
    assert dict(facts.items)["Calibrator"].startswith(f"{CALIBRATORS[method.key].label}, fitted on")


def test_warnings_are_limitations_of_the_record(report):
    def limitations(report: Report) -> tuple[str, ...]:
        return next(b for b in section(report, "Record").blocks if isinstance(b, Bullets)).items

    assert not report.warnings
    assert len(limitations(report)) == 1
    few = made(15, methods=())
    assert few.warnings
    assert limitations(few)[1:] == few.warnings


def test_the_contents_list_leads_to_every_section(report):
    page = report.html()
    for part in sections(report):
        assert f'<a href="#{part.anchor}">{part.title}</a>' in page
        assert f'<section id="{part.anchor}">' in page
