"""Templates: every item is answered, refused or left to the author, with published check values."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.centres import centres_of_slices
from calib.blocks.kinds import Bullets, Facts, Note, Table, in_markdown, parts
from calib.cli.main import main
from calib.data.cells import ScoreCells
from calib.loading import load
from calib.metrics.ranking import auc_variance
from calib.reports import Report, checklist, verify_report
from calib.reports.contents.checklist import BLOCKS, TEMPLATES, Checklist, Item, Template
from calib.reports.render.checklist import (
    SHOWN,
    _benefit,
    _concentration,
    _rows_of_auc,
    sections,
    state,
)
from tests.rare import rare
from tests.reports.kept import KEPT

DOCUMENT = Path(__file__).parents[2] / "docs" / "checklists.md"
# Example B: probabilities .05, .15, ..., .95 with 20 rows each.
SCORE = np.repeat(np.arange(0.05, 1.0, 0.1).round(2), 20)
EVENTS = [0, 4, 5, 6, 10, 11, 11, 16, 16, 20]
OUTCOME = np.concatenate([np.arange(20) < k for k in EVENTS])
# Portfolio A: PD, rows and defaults of six grades.
PD = [0.001, 0.0025, 0.006, 0.015, 0.04, 0.12]
ROWS = [2000, 3500, 4200, 3000, 1400, 400]
DEFAULTS = [3, 6, 31, 52, 49, 61]


def frame() -> pd.DataFrame:
    site = np.arange(200) % 5
    return pd.DataFrame({"score": SCORE, "outcome": OUTCOME.astype(int), "site": site.astype(str)})


@pytest.fixture(scope="module")
def live():
    data = load(frame(), outcome="outcome", score="score", slices=["site"])
    return calib.analyze(data, {"methods": ("logistic",)})


@pytest.fixture(scope="module")
def clinical(live) -> Report:
    return calib.report(live, template="clinical", answers={"thresholds": "0.1, 20%, 0.5"})


@pytest.fixture(scope="module")
def portfolio():
    outcome = np.concatenate([np.arange(n) < d for n, d in zip(ROWS, DEFAULTS, strict=True)])
    names, pd_of_row = np.repeat(list("ABCDEF"), ROWS), np.repeat(PD, ROWS)
    made = pd.DataFrame({"pd": pd_of_row, "default": outcome.astype(int), "grade": names})
    data = load(made, outcome="default", score="pd", slices=["grade"])
    return calib.analyze(data, {"methods": ()})


def tables(report: Report) -> dict[tuple[str, ...], list[list[str]]]:
    blocks = (b for s in sections(report) for b in parts(s.blocks))
    return {
        b.head: [[cell.text for cell in row] for row in b.rows]
        for b in blocks
        if isinstance(b, Table)
    }


def facts(report: Report) -> dict[str, str]:
    blocks = (b for s in sections(report) for b in s.blocks)
    return dict(pair for b in blocks if isinstance(b, Facts) for pair in b.items)


def said(blocks) -> str:
    """The sentences of an item, without its tables."""
    lines = [
        line
        for b in blocks
        if isinstance(b, Bullets | Note)
        for line in (b.items if isinstance(b, Bullets) else (b.text,))
    ]
    return "\n".join(lines)


def test_every_block_is_drawn_and_every_one_is_in_a_template():
    assert set(SHOWN) == set(BLOCKS)
    used = {name for one in TEMPLATES for i in checklist(one).template.items for name in i.show}
    assert used == set(BLOCKS)


@pytest.mark.parametrize(
    "name", ["credit", *(pytest.param(one, marks=rare) for one in TEMPLATES if one != "credit")]
)
def test_every_item_is_answered_refused_or_left_to_the_author(live, name):
    report = calib.report(live, template=name)
    chosen = checklist(name).template
    page, fields = report.markdown(), facts(report)
    for item in chosen.items:
        assert in_markdown(f"{item.id} {item.name}") in page
        assert item.write in fields or not item.write
    assert page.count("\n### ") == len(chosen.items)


def test_the_numbers_of_the_clinical_example(clinical):
    found = clinical.analysis.uncalibrated.metrics
    assert found["observed_expected_ratio"].value == pytest.approx(0.99, abs=1e-6)
    ends = (found["observed_expected_ratio"].low, found["observed_expected_ratio"].high)
    assert ends == pytest.approx((0.860679, 1.138752), abs=1e-6)
    assert found["intercept_at_slope_1"].value == pytest.approx(-0.029852, abs=1e-6)
    assert found["scaled_brier_score"].value == pytest.approx(0.339934, abs=1e-6)
    measures = next(rows for head, rows in tables(clinical).items() if head[0] == "Measure")
    assert measures[0][:2] == ["O:E ratio", "0.990"]
    assert {"AUC", "ICI", "Calibration slope", "Brier score"} <= {row[0] for row in measures}


@pytest.mark.parametrize(
    ("t", "net", "error", "gain", "error_of_gain"),
    [
        (0.1, 0.45, 0.038568, 0.011111, 0.002357),
        (0.2, 0.39375, 0.041248, 0.025, 0.012374),
        (0.5, 0.24, 0.047032, 0.25, 0.046771),
    ],
)
def test_net_benefit_and_its_standard_errors(t, net, error, gain, error_of_gain):
    cells = ScoreCells.from_arrays(OUTCOME, SCORE)
    model, more = _benefit(cells.score, cells.positive, cells.weight, t, 1.0)
    assert [model.value, model.high - model.value] == pytest.approx([net, error], abs=1e-6)
    assert [more.value, more.high - more.value] == pytest.approx([gain, error_of_gain], abs=1e-6)


def test_stated_thresholds_are_those_of_the_table(live, clinical, texts):
    head, rows = next((h, r) for h, r in tables(clinical).items() if "Threshold" in h)
    assert [row[1] for row in rows if row[0] == "Uncalibrated"] == ["10.0%", "20.0%", "50.0%"]
    assert rows[0][head.index("Net benefit")] == "0.4500"
    wrong = calib.report(live, template="clinical", answers={"thresholds": "7"})
    item = next(i for i in wrong.checklist.template.items if i.key == "thresholds")
    assert item.write in facts(wrong)  # The rest of the item stands.
    texts(SHOWN["net-benefit"](wrong))


def test_the_scores_by_outcome_are_a_chart(clinical):
    (drawing,) = SHOWN["risks"](clinical)
    cells = clinical.evidence.scores("uncalibrated")
    heights = [layer.y[1:-1] for layer in drawing.chart.layers if layer.key == "histogram"]
    # Groups of ten rows end where the scores of the example do, so the counts are exact.
    for height, chosen in zip(heights, (OUTCOME, ~OUTCOME), strict=True):
        counted, _ = np.histogram(SCORE[chosen], np.arange(21) / 20)
        assert height == pytest.approx(100 * counted / chosen.sum())
    assert not cells.one_class


def test_rows_needed_for_an_auc():
    cases = [(0.7, 0.1, 0.0255, 1154), (0.8, 0.5, 0.0255, 303), (0.75, 0.2, 0.0255, 568)]
    for area, rate, error, n in cases:
        assert _rows_of_auc(area, rate, error) == n
    assert math.isnan(_rows_of_auc(1.0, 0.1, 0.05))


def test_centres_from_the_slices_of_a_report(clinical):
    part = clinical.parts.slices[0]
    tables_of = (part.gaps["uncalibrated"], part.tests["uncalibrated"])
    found = centres_of_slices(*tables_of, part.intercept)
    for i, name in enumerate(found.names):
        inside = frame()["site"] == name
        y, s = frame().loc[inside, "outcome"], frame().loc[inside, "score"]
        assert found.ratio[i].value == pytest.approx(y.sum() / s.sum())
        error = math.sqrt((1 - y.mean()) / y.sum())
        assert math.log(found.ratio[i].high / found.ratio[i].value) == pytest.approx(
            1.959964 * error
        )
        intercept = calib.metrics.intercept_at_slope_1(y, s)
        assert found.intercept[i].value == pytest.approx(intercept, abs=1e-8)
    assert found.intercepts.n_groups == 5
    assert centres_of_slices(*tables_of).intercepts is None  # Earlier reports have none.
    assert found.ratios.new_group.low < found.ratios.mean.low
    rows = next(rows for head, rows in tables(clinical).items() if head[0] == "Centre")
    assert rows[-1][0] == "New centre"
    assert len(rows) == 5 + 3


def test_without_centres_the_item_is_refused_and_the_rest_stands(live, texts):
    named = calib.report(live, template="clinical", answers={"centres": "hospital"})
    texts(SHOWN["centres"](named))
    item = next(i for i in named.checklist.template.items if i.key == "centres")
    assert state(item, [SHOWN[name](named) for name in item.show]) == "refused"


def test_grades_of_a_portfolio(portfolio):
    report = calib.report(portfolio, template="credit", answers={"initial_auc": "0.86"})
    rows = next(r for h, r in tables(report).items() if h[0] == "Grade")
    assert [row[0] for row in rows] == [*"ABCDEF", "Portfolio"]
    jeffreys = [0.220165, 0.822897, 0.125008, 0.146881, 0.829800, 0.025659, 0.104704]
    assert [float(row[5]) for row in rows] == pytest.approx(jeffreys, abs=5e-4)
    assert [row[7] for row in rows] == [*["green"] * 5, "yellow", "green"]
    assert facts(report)["S and p (small: worse now)"].startswith("3.124")


def test_notes_of_grades(live, portfolio, texts):
    chosen = {"grades": "site", "order": "0, 1, 2, none, 3, 4"}
    broken = calib.report(live, template="credit", answers=chosen)
    rows = next(r for h, r in tables(broken).items() if h[0] == "Grade")
    assert [row[0] for row in rows] == [*"01234", "Portfolio"]
    texts(said(SHOWN["grades"](broken)))  # Each site has several PD, and all have the same mean.
    short = calib.report(portfolio, template="credit", answers={"order": "A, B"})
    texts(said(SHOWN["grades"](short)))  # The table stands if the order misses a grade.


@pytest.mark.parametrize(
    ("share", "variation", "herfindahl"),
    [
        ([0.1, 0.4, 0.5], 0.509902, 0.210367),
        ([0.2, 0.35, 0.45], 0.308221, 0.082608),
        ([0.05, 0.1, 0.2, 0.3, 0.2, 0.1, 0.05], 0.604152, 0.159902),
    ],
)
def test_concentration_of_the_grades(share, variation, herfindahl):
    found = _concentration(np.array(share))
    assert found == pytest.approx((variation, herfindahl), abs=1e-6)
    # The second formula of the checklist: by the squared coefficient of variation.
    k = len(share)
    assert found[1] == pytest.approx(1 + math.log((found[0] ** 2 + 1) / k) / math.log(k))


def test_the_printed_concentration_is_that_of_the_rows(portfolio):
    printed = facts(calib.report(portfolio, template="credit"))
    share = np.array(ROWS) / sum(ROWS)
    variation = share.std() / share.mean()
    assert printed["Coefficient of variation, by rows"] == f"{variation:.3f}"
    herfindahl = 1 + math.log((share**2).sum()) / math.log(6)
    assert printed["Herfindahl index"] == f"{herfindahl:.3f}"


@pytest.mark.parametrize("column", ["weight", "group"])
def test_an_initial_auc_is_not_tested_with_weights_or_clusters(column, texts):
    made = frame().assign(weight=np.tile([1.0, 2.0], 100), group=np.arange(200) // 4)
    data = load(made, outcome="outcome", score="score", slices=["site"], **{column: column})
    analysis = calib.analyze(data, {"methods": ()})
    report = calib.report(analysis, template="credit", answers={"initial_auc": "0.9"})
    printed = facts(report)
    assert "AUC now" in printed
    assert "S and p (small: worse now)" not in printed
    if column == "weight":
        texts(said(SHOWN["initial-auc"](report)))


def test_variance_of_the_auc():
    score, outcome = (
        np.repeat(PD, ROWS),
        np.concatenate([np.arange(n) < d for n, d in zip(ROWS, DEFAULTS, strict=True)]),
    )
    found = auc_variance(ScoreCells.from_arrays(outcome, score))
    assert found == pytest.approx(0.00021359, abs=1e-8)


def test_a_report_with_a_template_is_verified_and_keeps_its_answers(live, clinical, tmp_path):
    again = Report.open(clinical.json())
    assert again.checklist == clinical.checklist
    assert again.html() == clinical.html()
    exact = Report.from_analysis(live, checklist=clinical.checklist, grade="exact")
    assert verify_report(exact.json()).is_recomputed
    data = json.loads(exact.json())
    data["checklist"]["answers"]["thresholds"] = "0.3"
    with pytest.raises(calib.reports.ReportError):
        verify_report(json.dumps(data))
    filled = clinical.edited(checklist=checklist("clinical", {"17": "Committee 12"}))
    assert facts(filled)["Committee, number, consent"] == "Committee 12"
    assert "checklist" not in json.loads(KEPT.read_text())
    assert "checklist" not in json.loads(calib.report(live).json())


def test_what_is_refused(texts, tmp_path):
    cases = [
        lambda: checklist("clinic"),
        lambda: checklist("", {"15": "a"}),
        lambda: checklist("plain", {"99": "a"}),
        lambda: Item("1", "Nothing"),
        lambda: Item("1", "Unknown", show=("mesures",)),
    ]
    for call in cases:
        with texts.raises(ValueError):
            call()
    (tmp_path / "broken.toml").write_text("name = 'a'\ntitle = 'A'\nsections = 3\n")
    with pytest.raises(ValueError, match=r"broken\.toml"):
        checklist(tmp_path / "broken.toml")
    with pytest.raises(ValueError, match="read"):
        checklist(tmp_path / "none.toml")


def test_a_file_of_ones_own_as_toml_and_json(live, tmp_path):
    item = {"id": "A1", "name": "Accuracy", "show": ["measures"], "write": "Who checked it"}
    own = {"name": "house", "title": "House rules", "sections": [{"title": "All", "items": [item]}]}
    (tmp_path / "house.json").write_text(json.dumps(own))
    (tmp_path / "answers.toml").write_text('A1 = "Ada"\n')
    chosen = checklist(tmp_path / "house.json", tmp_path / "answers.toml")
    assert isinstance(chosen, Checklist)
    assert isinstance(chosen.template, Template)
    report = Report.from_analysis(live, checklist=chosen)
    assert facts(report) == {"Who checked it": "Ada"}
    assert "A1 Accuracy" in report.html()


def toml_blocks() -> list[str]:
    return re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_documentation_has_every_item(name):
    lines = DOCUMENT.read_text().splitlines()
    for item in checklist(name).template.items:
        shown = ", ".join(item.show)
        assert f"| {item.id} | {item.name} | {shown} | {item.refuse} | {item.write} |" in lines


def test_the_documented_template_and_answers_are_read(live, tmp_path):
    template, answers = toml_blocks()
    (tmp_path / "house.toml").write_text(template)
    (tmp_path / "answers.toml").write_text(answers.replace("hospital", "site"))
    chosen = checklist(tmp_path / "house.toml", tmp_path / "answers.toml")
    report = calib.report(live, tmp_path / "house.toml", chosen.answers)
    assert report.checklist == chosen
    assert facts(report)["Who releases it, and when"] == "Ada Lind, 2 June 2026"
    assert any(head[0] == "Centre" for head in tables(report))


def test_the_command_line(tmp_path, capsys):
    data, answers = tmp_path / "rows.csv", tmp_path / "answers.toml"
    frame().to_csv(data, index=False)
    answers.write_text('thresholds = "0.3"\n')
    saved = tmp_path / "report.json"
    words = [str(data), "--outcome", "outcome", "--score", "score", "--methods", "logistic"]
    words += ["--template", "clinical", "--answers", str(answers), "-o", str(saved)]
    assert main(["report", *words]) == 0
    report = Report.open(saved)
    assert report.checklist.template.name == "clinical"
    assert report.checklist.answers == {"thresholds": "0.3"}
    assert report.parts.decisions is not None
    assert "observed_expected_ratio" in report.analysis.uncalibrated.metrics
    assert main(["report", str(data), "--template", "clinic", "-o", str(saved)]) == 2
    assert "clinical, credit" in capsys.readouterr().err
