"""The certified threshold in a report: that of the library, without single rows, and verified."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.decisions import Costs, ErrorLimit
from calib.blocks.kinds import Paragraph, Table
from calib.cli import main
from calib.reports import NotVerified, Report, ReportError, parts_of, verify_report
from calib.reports.contents.sealing import seal_of
from calib.reports.contents.settings_file import SavedSettings
from calib.reports.render.sections import sections


def rows(n=1000, **more):
    rng = np.random.default_rng(0)
    score = rng.beta(4, 1, n)
    return calib.Predictions.from_arrays(rng.random(n) < score, score, **more)


def made(predictions, grade="guarded", costs=None, **limit):
    analysis = calib.analyze(predictions, {"methods": ("platt",)})
    parts = parts_of(predictions, analysis, costs=costs, error_limit=ErrorLimit(**limit))
    return Report.from_analysis(analysis, parts=parts, grade=grade)


@pytest.fixture(scope="module")
def report():
    return made(rows(), max_error=0.1, sides="both")


@pytest.fixture(scope="module")
def certificate():
    return calib.certify(rows(), 0.1, sides="both")


def blocks(report, kind):
    section = next(one for one in sections(report) if one.title == "Decisions")
    return [block for block in section.blocks if isinstance(block, kind)]


def test_it_has_the_sentence_and_the_numbers_of_the_library(report, certificate):
    first, *_ = blocks(report, Paragraph)
    assert first.text == certificate.sentence
    (table,) = blocks(report, Table)
    assert table.caption.startswith(certificate.tested_on)
    accepted = [cell.text for cell in table.rows[0]]
    side = certificate.above
    assert accepted[1] == f"≥ {100 * side.threshold:.15g}%"
    assert accepted[3].startswith(f"{side.n_errors} of {side.n_rows} (")
    assert accepted[4] == f"{100 * side.bound:.1f}%"
    assert Report.open(report.json()).html() == report.html()


def test_it_stands_beside_costs():
    report = made(rows(), costs=Costs(false_negative=4), max_error=0.1)
    assert [len(table.rows) for table in blocks(report, Table)] == [2, 1]


def test_only_the_certified_thresholds_are_in_it(report):
    for side in report.parts.certificate.sides:
        assert len(side.curve_rows) == (side.threshold is not None)
    with zipfile.ZipFile(io.BytesIO(report.tables())) as packed:
        assert len(pd.read_csv(packed.open("certified.csv"))) == 1
    scores = {f"{score:.9g}" for score in rows().scores}
    text = json.dumps(json.loads(report.json())["parts"])
    assert not any(score in text for score in scores)


def test_thresholds_that_divide_off_fewer_than_ten_rows_are_left_out(texts):
    score = np.r_[np.full(400, 0.9), np.full(5, 0.1)]
    few = calib.Predictions.from_arrays(np.r_[np.ones(399), 0, 1, np.zeros(4)], score)
    assert calib.certify(few, 0.02).above.n_rows == 400
    report = made(few, max_error=0.02)
    assert report.parts.certificate is None
    texts.shown(" ".join(report.warnings))


def test_no_threshold_says_why(report):
    strict = made(rows(), max_error=0.001)
    assert strict.parts.certificate.threshold is None
    (sentence,) = blocks(strict, Paragraph)
    assert sentence.text == calib.certify(rows(), 0.001).sentence
    assert Report.open(strict.json()).markdown() == strict.markdown()


def test_what_cannot_be_certified_is_a_warning(texts):
    weighted = made(rows(sample_weight=np.arange(1, 1001)))
    assert weighted.parts.certificate is None
    (warning,) = (one for one in weighted.warnings if "certified" in one)
    texts.shown(warning)


@pytest.mark.parametrize("sides", ["above", "both"])
def test_an_exact_report_is_recomputed(sides):
    report = made(rows(), "exact", max_error=0.1, sides=sides)
    assert verify_report(report.json()).is_recomputed
    data = json.loads(report.json())
    data["parts"]["certificate"]["above"]["n_errors"] -= 1
    data["seal"] |= {"sha256": seal_of({k: v for k, v in data.items() if k != "seal"}).sha256}
    with pytest.raises(NotVerified, match=r"parts\.certificate\.above\.n_errors is"):
        verify_report(json.dumps(data))


def test_clusters_are_certified_by_clusters(texts):
    grouped = made(rows(group=np.arange(1000) // 2), max_error=0.15)
    texts.shown(grouped.parts.certificate.tested_on)
    assert verify_report(grouped.json()).n_compared


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"side": "below"}, "side must be 'above', got 'below'"),
        ({"n_rows": 5000}, "n_rows must be rows of the certificate, got 5000"),
        ({"curve_bound": []}, "must hold lists of one length"),
    ],
)
def test_numbers_that_cannot_be_drawn_are_refused(report, change, words):
    data = json.loads(report.json())
    data["parts"]["certificate"]["above"] |= change
    with pytest.raises(ReportError, match=words):
        Report.open(json.dumps(data))


def test_the_command_line_and_its_settings_give_the_same_certificate(tmp_path):
    data, place = tmp_path / "answers.csv", tmp_path / "report.json"
    frame = pd.DataFrame({"y": rows().outcome.astype(int), "p": rows().scores})
    frame.to_csv(data, index=False)
    command = ["report", str(data), "--outcome", "y", "--score", "p", "--methods", "platt"]
    limit = ["--certify-error", "0.1", "--certify-sides", "both", "--certify-confidence", "0.9"]
    assert main([*command, *limit, "-o", str(place)]) == 0
    first = Report.open(place)
    assert (
        first.parts.certificate.sentence == calib.certify(rows(), 0.1, 0.9, sides="both").sentence
    )
    settings = tmp_path / "settings.json"
    settings.write_text(SavedSettings.of(first).json())
    again = tmp_path / "again.json"
    assert main(["report", str(data), "--settings", str(settings), "-o", str(again)]) == 0
    created = "2026-03-01"
    assert Report.open(again).edited(created=created).seal == first.edited(created=created).seal


def test_the_code_in_it_gives_the_same_report(report):
    limited = report.parts.certificate.limit
    code = next(one for one in sections(report) if one.title == "How to reproduce this").blocks[1]
    assert f"error_limit={limited!r}" in code.text
