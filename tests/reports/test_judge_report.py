"""The report of a judge: its pass rate, the counts by range of score, and what is left out."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.judge import judge_rows
from calib.blocks.kinds import Table
from calib.data.judged import JudgedRows
from calib.reports import NotVerified, Report, ReportError, verify_report
from calib.reports.render.sections import sections


def judged(n=2000, n_labels=200, seed=0, **more):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.8
    score = np.where(truth, rng.beta(6, 2, n), rng.beta(3, 3, n))
    gold = np.where(np.arange(n) < n_labels, truth, np.nan)
    columns = {"id": [f"secret-{i}" for i in range(n)]}
    return JudgedRows.from_arrays(score, gold, columns=columns, **more)


@pytest.fixture(scope="module")
def result():
    return judge_rows(judged())


@pytest.fixture(scope="module")
def report(result):
    return calib.report(result)


def tables(report):
    (first, *_) = sections(report)
    return [block for block in first.blocks if isinstance(block, Table)]


def test_the_pass_rate_comes_first_in_every_format(report, result, texts):
    page, text, data = report.html(), report.markdown(), json.loads(report.json())
    assert page.index("judge&#x27;s mean of") < page.index('id="verdict"') < page.index("<nav")
    assert text.index("## Judge") < text.index("## Verdict") < text.index("## Pass rate")
    assert result.sentence.replace("%", "%") in text
    assert data["parts"]["judge"]["numbers"]["mean"] == result.mean
    texts(report.heading)
    assert sections(report)[0].title == "Pass rate"


def test_it_is_the_same_report_after_it_was_opened(report):
    opened = Report.open(report.json())
    assert opened.html() == report.html()
    assert opened.markdown() == report.markdown()


def test_the_analysis_is_of_the_labelled_rows(report, result):
    data = report.analysis.data
    assert data.n_rows == result.n_labels
    assert data.base_rate == pytest.approx(result.base_rate)


def test_ranges_add_up_to_all_rows_and_have_ten_labels_each(report, result):
    ranges = report.parts.judge.ranges
    assert ranges.labels.min() >= 10
    assert ranges.rows.sum() == result.n_rows
    assert ranges.labels.sum() == result.n_labels
    assert ranges.passing.sum() == round(result.base_rate * result.n_labels)
    assert ranges.disagreements.sum() == len(result.disagreements) == result.n_disagreements
    assert ranges.labels_next.sum() == 50


def test_ranges_count_the_rows_that_are_drawn_to_be_labelled_next(result):
    by_score = result.by_score(30)
    score = result.rows.score[result.next_rows(30)["row"].to_numpy() - 1]
    for i in range(len(by_score.rows)):
        inside = (score >= by_score.low[i]) & (score <= by_score.high[i])
        assert inside.sum() == by_score.labels_next[i]


def test_the_tables_hold_the_numbers_of_the_result(report, result):
    estimates, agreement, ranges = tables(report)
    assert [cell.text for cell in estimates.rows[0]][2:] == ["200", "2,000"]
    assert estimates.rows[0][1].text.startswith(f"{100 * result.mean:.1f}% (")
    shown = {name.text: value.text for name, value in agreement.rows}
    assert shown["Kappa"].startswith(f"{result.kappa:.2f} (")
    assert shown["Disagreements"] == f"{len(result.disagreements)} of 200"
    assert len(ranges.rows) == len(report.parts.judge.ranges.rows)


def test_no_row_is_in_it(report, result):
    for text in (report.html(), report.markdown(), report.json()):
        assert "secret-" not in text
    # An end of a range is the score of a single row, so it has three digits.
    numbers = report.parts.judge
    ends = [*numbers.ranges.low, *numbers.ranges.high, *numbers.numbers.labelled_range]
    assert not set(ends) & set(result.rows.score)


def test_the_tables_as_files(report, result):
    with zipfile.ZipFile(io.BytesIO(report.tables())) as packed:
        frame = pd.read_csv(packed.open("judge.csv"))
        ranges = pd.read_csv(packed.open("judge_ranges.csv"))
    assert frame["kappa"][0] == pytest.approx(result.kappa)
    assert ranges["rows"].sum() == result.n_rows


@pytest.mark.parametrize("grade", ["guarded", "exact"])
def test_it_is_verified_without_its_pass_rate(result, grade, texts):
    text = Report.from_judge(result, grade=grade).json()
    verified = verify_report(text)
    texts.shown(verified.not_verified[0], "each case")
    changed = json.loads(text)
    changed["parts"]["judge"]["numbers"]["mean"] = 0.99
    with texts.raises(NotVerified):
        verify_report(json.dumps(changed))


def test_numbers_that_contradict_the_analysis_are_refused(report):
    for change, words in (
        ({"numbers": {"n_labels": 199}}, "n_labels must be the 200 rows of the analysis, got 199"),
        ({"ranges": {"labels": [0] * len(report.parts.judge.ranges.rows)}}, "must have labels"),
        ({"ranges": {"low": [0.5]}}, "must hold lists of one length"),
    ):
        data = json.loads(report.json())
        for part, values in change.items():
            data["parts"]["judge"][part] |= values
        with pytest.raises(ReportError, match=words):
            Report.open(json.dumps(data))


def test_a_rate_without_support_is_not_in_it(texts):
    rows = judged()
    high = rows.score.argsort()[-100:]
    gold = np.full(len(rows), np.nan)
    gold[high] = np.arange(100) % 2
    result = judge_rows(JudgedRows.from_arrays(rows.score, gold))
    report = Report.open(calib.report(result).json())
    assert "not supported" in report.html()
    texts.shown(report.parts.judge.numbers.sentence)


@pytest.mark.parametrize(
    ("gold", "words"),
    [
        ([1] * 60, "labels of both kinds for that: all 60 labelled rows pass"),
        ([0] * 60, "all 60 labelled rows fail"),
        ([0, 1] * 4, "needs at least 10 labels for that, got 8"),
    ],
)
def test_what_no_report_can_show_is_refused_in_words(gold, words):
    score = np.linspace(0.2, 0.8, 200)
    labels = np.full(200, np.nan)
    labels[np.linspace(0, 199, len(gold)).astype(int)] = gold
    with pytest.raises(ValueError, match=words):
        calib.report(judge_rows(JudgedRows.from_arrays(score, labels)))


def test_clusters_are_said_not_to_be_recomputed():
    rows = judged(group=np.arange(2000) // 2)
    verified = verify_report(calib.report(judge_rows(rows)).json())
    assert any("clusters" in sentence for sentence in verified.not_verified)


def test_the_code_in_it_gives_the_same_pass_rate(tmp_path):
    rows = judged()
    frame = pd.DataFrame({"id": rows.columns["id"], "quality": rows.score})
    gold = pd.DataFrame({"id": rows.columns["id"][:200], "human": rows.outcome[:200].astype(int)})
    frame.to_csv(tmp_path / "judged.csv", index=False)
    gold.to_csv(tmp_path / "gold.csv", index=False)
    files = (tmp_path / "judged.csv", tmp_path / "gold.csv")
    result = calib.judge(*files, score="quality", outcome="human", confidence_level=0.9)
    report = Report.from_judge(result, title="March")
    section = next(one for one in sections(report) if one.title == "How to reproduce this")
    code = section.blocks[1].text.replace('"...", "..."', f"{str(files[0])!r}, {str(files[1])!r}")
    names = {}
    exec(code.replace('report.save("report.html")', ""), names)
    assert names["report"].parts.judge.numbers.interval == report.parts.judge.numbers.interval
    assert names["report"].heading == "March"
