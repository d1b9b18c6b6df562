"""Commands on evaluation logs, with the options that a log needs."""

import pytest

import calib
from calib.reports import Report
from calib.reports.render.reproduction import command_line, library_call
from tests.loading.logs import archive, inspect_json, members, sample, stated
from tests.pages.test_logs import samples


@pytest.fixture
def log(tmp_path):
    answers = [*samples(0), stated(300, 0.4, "P")]
    for answer in answers:
        answer["scores"]["other"] = {"value": 0.25}
    path = tmp_path / "run.eval"
    path.write_bytes(archive(members(answers)))
    return path


def test_check_names_the_options_that_a_log_needs(run, log, texts):
    done = run("check", log, "--max-ks", "0.9")
    assert done.status == 2
    assert "--scorer match or --scorer other" in done.err
    done = run("check", log, "--scorer", "match", "--max-ks", "0.9")
    assert done.status == 2
    assert "--correct-from 1 or --correct-from 0.5" in done.err
    answered = ("--scorer", "match", "--correct-from", "0.5")
    done = run("check", log, *answered, "--max-ks", "0.9")
    assert done.status == 0
    texts.shown(done.err)
    assert run("check", log, *answered, "--max-ks", "0.001").status == 1


def test_a_report_of_a_log_has_the_command_that_makes_it_again(run, log, tmp_path):
    path = tmp_path / "report.json"
    options = ("--scorer", "match", "--correct-from", "1")
    assert run("report", log, *options, "-o", path).status == 0
    report = Report.open(path)
    assert report.analysis.has_answers
    call = library_call(report)
    assert "scorer='match'" in call
    assert "correct_from=1.0" in call
    again = tmp_path / "again.json"
    assert run("report", log, "--settings", path, "-o", again).status == 0
    assert Report.open(again).analysis.data.fingerprint == report.analysis.data.fingerprint
    assert run("verify", path).status == 0


def test_a_log_without_confidence_is_refused_with_what_it_gives(run, tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(inspect_json([sample(k, "CI"[k % 4 == 0]) for k in range(40)]))
    done = run("check", path, "--max-ks", "0.9")
    assert done.status == 2
    assert "40 answers, 75.0% right (95% CI 59.8% to 85.8%)" in done.err


def test_several_logs_are_read_together(run, tmp_path, texts):
    paths = [tmp_path / "one.eval", tmp_path / "two.eval"]
    for seed, path in enumerate(paths):
        path.write_bytes(archive(members(samples(seed))))
    expected = calib.load(paths)
    place = tmp_path / "report.json"
    assert run("report", *paths, "-o", place).status == 0
    report = Report.open(place)
    assert report.analysis.data.fingerprint == expected.fingerprint
    assert "calib.load(\n    ['one.eval', 'two.eval']," in library_call(report)
    texts.shown(command_line(report))
    again = tmp_path / "again.json"
    assert run("report", *paths, "--settings", place, "-o", again).status == 0
    assert Report.open(again).analysis.data.fingerprint == expected.fingerprint
    assert run("check", *paths, "--max-ks", "0.9").status == 0


def test_only_logs_are_read_together(run, tmp_path, log, texts):
    table = tmp_path / "rows.csv"
    table.write_text("y,p\n1,0.5\n0,0.2\n")
    for files in ((table, table), (log, table)):
        assert run("check", *files, "--max-ks", "0.9").status == 2
    judged = run("check", table, table, "--gold", table, "--min-kappa", "0.1")
    texts.shown(judged.err)
