import math
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.summary import Finding
from calib.reports import Report
from tests.rare import common_first

READ_AS = (
    "outcome: y, score: p, positive: yes, slices: half (guessed) · outcome and score: its name "
    "says so\n"
)


@pytest.fixture(scope="session")
def method(folder):
    """The library's results on the same file."""
    analysis = calib.analyze(calib.load(folder / "scores.csv", outcome="y", score="p"))
    return analysis.methods.__getitem__


def limits(method, **factors):
    """Options with limits at a multiple of what the library found."""
    values = {
        "max-ks": method.metrics["ks_error"].value,
        "max-ece": method.metrics["ece_quantile"].value,
        "max-log-loss": method.metrics["log_loss"].value,
        "min-p": method.ks.p_value,
    }
    return [
        part
        for name, factor in factors.items()
        for part in (f"--{name.replace('_', '-')}", repr(values[name.replace("_", "-")] * factor))
    ]


def found_by_tests(folder) -> str:
    rows = calib.load(folder / "scores.csv", outcome="y", score="p")
    return f"tests: {calib.analyze(rows, {'methods': ('uncalibrated',)}).verdict.sentence}\n"


def test_the_tests_of_the_checked_calibrator_are_said(run, folder, tmp_path, texts):
    place = tmp_path / "found.xml"
    options = ("--method", "platt", "--max-ks", 1, "--junit", place)
    done = run("check", folder / "scores.csv", *options)
    analysis = calib.analyze(calib.load(folder / "scores.csv"), {"methods": ("platt",)})
    assert analysis.recommendation.method == "platt"
    texts.shown(analysis.after_sentence)
    assert done.err.endswith(f"tests: {analysis.after_sentence}\n")
    facts = {
        element.get("name"): element.get("value")
        for element in ElementTree.parse(place).iter("property")
    }
    assert facts["tests"] == analysis.after_sentence


@pytest.mark.parametrize("key", common_first(["uncalibrated", "platt", "spline"], ["platt"]))
@pytest.mark.parametrize("limit", ["max_ks", "max_ece", "max_log_loss", "min_p"])
def test_the_status_turns_where_the_number_of_the_library_lies(run, folder, method, key, limit):
    command = ("check", folder / "scores.csv", "--outcome", "y", "--score", "p", "--method", key)
    command += ("--strict-point",)
    statuses = {
        factor: run(*command, *limits(method(key), **{limit: factor})).status
        for factor in (1 - 1e-9, 1.0, 1 + 1e-9)
    }
    expected = [0, 0, 1] if limit == "min_p" else [1, 0, 0]
    assert list(statuses.values()) == expected


@pytest.mark.parametrize(
    ("limit", "metric"),
    [("max-ks", "ks_error"), ("max-ece", "ece_quantile"), ("max-log-loss", "log_loss")],
)
def test_a_maximum_is_exceeded_where_the_interval_begins(run, folder, method, limit, metric, texts):
    estimate = method("uncalibrated").metrics[metric]
    assert 0.0 < estimate.low < estimate.value
    statuses, lines = [], []
    for bound in (estimate.low * (1 - 1e-9), estimate.low, estimate.value):
        done = run("check", folder / "scores.csv", f"--{limit}", repr(bound))
        statuses.append(done.status)
        lines.append(done.out)
    assert statuses == [1, 0, 0]
    texts.shown(lines[0], "each case")
    assert "is above" in lines[1]
    texts.shown(lines[1], "each case, 2")
    texts.shown(lines[2], "each case, 3")
    assert all(f"(95% CI {estimate.low:.3g}"[:12] in line for line in lines)


def saved_report(path, shift, seed=0, n=2000, **settings):
    """A file of rows whose log-odds are off by `shift`, and its report."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.05, 0.95, n)
    odds = np.exp(shift) * score / (1.0 - score)
    outcome = (rng.random(n) < odds / (1.0 + odds)).astype(int)
    pd.DataFrame({"y": outcome, "p": score}).to_csv(path.with_suffix(".csv"), index=False)
    analysis = calib.analyze(calib.load(path.with_suffix(".csv")), calib.Settings(**settings))
    Report.from_analysis(analysis).save(path)
    return analysis


def test_a_significant_worsening_fails(run, tmp_path, texts):
    march = saved_report(tmp_path / "march.json", 0.0, 0, methods=())
    worse = saved_report(tmp_path / "worse.json", 1.5, 1, methods=())
    saved_report(tmp_path / "same.json", 0.0, 2, methods=())
    junit = tmp_path / "out.xml"
    options = ("--against", tmp_path / "march.json", "--junit", junit)
    done = run("check", tmp_path / "worse.csv", *options)
    assert done.status == 1
    # The rule of the log loss is that of two independent samples (Zou and Donner 2008).
    before, after = (one.uncalibrated.metrics["log_loss"] for one in (march, worse))
    low = after.value - before.value
    low -= math.hypot(after.value - after.low, before.high - before.value)
    assert low > 0.0
    assert f"95% CI {low:.4g} to " in done.out
    before, after = (one.uncalibrated.metrics["ks_error"] for one in (march, worse))
    assert after.low > before.high
    texts.shown(done.out)
    cases = ElementTree.parse(junit).iter("testcase")
    texts("\n".join([case.get("name") for case in cases]))
    same = run("check", tmp_path / "same.csv", *options)
    assert same.status == 0
    texts.shown(same.out)
    # An improvement is no worsening.
    back = run("check", tmp_path / "march.csv", "--against", tmp_path / "worse.json")
    assert back.status == 0


def test_reports_that_cannot_be_compared_are_refused(run, tmp_path, texts):
    saved_report(tmp_path / "march.json", 0.0, methods=())
    command = ("check", tmp_path / "march.csv", "--against")
    done = run(*command, tmp_path / "march.json")
    assert done.status == 0
    texts.shown(done.err)
    for options, sentence in (
        (("--method", "platt"), "march.json has no scores of platt, only of uncalibrated."),
        (("--level", 0.9), "march.json has 95% intervals and this check 90% ones."),
    ):
        done = run(*command, tmp_path / "march.json", *options)
        assert (done.status, done.out) == (2, "")
        assert sentence in done.err
    assert run(*command, tmp_path / "march.csv").status == 2
    assert run(*command, tmp_path / "none.json").status == 2
    judged = run(*command, tmp_path / "march.json", "--min-kappa", 0.5)
    assert judged.status == 2
    assert "got --against too" in judged.err


def test_one_line_says_what_was_kept(run, folder, method, texts):
    done = run("check", folder / "scores.csv", *limits(method("uncalibrated"), max_ks=2, min_p=0.5))
    assert done.status == 0
    assert done.err == READ_AS + found_by_tests(folder)
    value = method("uncalibrated").metrics["ks_error"].value
    assert f"{value:.6g}" in done.out
    texts.shown(done.out)
    assert done.out.endswith(" (Uncalibrated, 600 rows)\n")
    assert done.out.count("\n") == 1


def test_one_line_says_which_limits_broke_and_only_those(run, folder, method, texts):
    done = run(
        "check",
        folder / "scores.csv",
        *limits(method("uncalibrated"), max_ks=0.5, max_ece=0.5, max_log_loss=2),
    )
    assert done.status == 1
    assert done.err == READ_AS + found_by_tests(folder)
    texts.shown(done.out)
    calibrated = re.findall(
        r"; a calibrated model with this many rows shows ([0-9.]+) on average", done.out
    )
    floors = [method("uncalibrated").metrics[k].noise_floor for k in ("ks_error", "ece_quantile")]
    assert calibrated == [f"{floor:.3g}" for floor in floors]
    assert "; ECE, 15 quantile bins " in done.out
    assert "Log loss" not in done.out
    assert done.out.count("\n") == 1


def test_the_bins_of_the_settings_are_those_of_the_limit(run, folder):
    settings = calib.Settings(strategy="uniform", n_bins=7)
    analysis = calib.analyze(calib.load(folder / "scores.csv"), settings)
    value = analysis.uncalibrated.metrics["ece_uniform"].value
    options = ("--strategy", "uniform", "--bins", "7", "--max-ece", value * (1 - 1e-9))
    done = run("check", folder / "scores.csv", *options, "--strict-point")
    assert done.status == 1
    assert "ECE, 7 uniform bins" in done.out


def test_test_rows_are_what_is_checked(run, folder):
    data = calib.load(folder / "scores.csv", test=folder / "more.csv")
    value = calib.analyze(data).methods["platt"].metrics["ks_error"].value
    command = ("check", folder / "scores.csv", "--test", folder / "more.csv", "--method", "platt")
    assert run(*command, "--max-ks", value).status == 0
    done = run(*command, "--max-ks", value * (1 - 1e-9), "--strict-point")
    assert done.status == 1
    assert done.out.endswith("(Platt scaling, 400 rows)\n")


@pytest.mark.parametrize(("value", "bound"), [(0.020000000001, 0.02), (1.0000000001, 1.0)])
def test_rounding_never_contradicts_the_status(value, bound):
    above = Finding("KS error", value, bound, at_most=True)
    assert not above.is_met
    assert repr(value) in above.sentence


def test_what_is_not_a_number_breaks_every_limit():
    assert not Finding("AUC", math.nan, 1.0, at_most=True).is_met
    assert not Finding("AUC", math.nan, 0.0, at_most=False).is_met


def test_junit_says_the_same(run, folder, method, tmp_path, texts):
    path = tmp_path / "out.xml"
    options = (*limits(method("uncalibrated"), max_ks=0.5, max_log_loss=2), "--junit", path)
    done = run("check", folder / "scores.csv", *options)
    assert done.status == 1
    first = path.read_bytes()
    (suite,) = ElementTree.fromstring(first)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    broken, kept = suite.findall("testcase")
    texts.shown(broken.get("name"))
    assert broken.find("failure").get("message") in done.out
    assert kept.find("failure") is None
    facts = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert facts["fingerprint"] == calib.load(folder / "scores.csv").fingerprint
    assert (facts["data"], facts["rows"], facts["method"]) == ("scores", "600", "uncalibrated")
    assert run("check", folder / "scores.csv", *options).status == 1
    assert path.read_bytes() == first


def test_junit_holds_a_hostile_name(run, folder, tmp_path):
    name = 'a"<&>]]>\x00\x1b\ud800\uffff ✓'
    options = ("--max-ks", "1", "--junit", tmp_path / "out.xml", "--name", name)
    assert run("check", folder / "scores.csv", *options).status == 0
    root = ElementTree.parse(tmp_path / "out.xml").getroot()
    facts = {p.get("name"): p.get("value") for p in root.iter("property")}
    assert facts["data"] == 'a"<&>]]>\ufffd\ufffd\ufffd\ufffd ✓'


def test_an_old_junit_file_does_not_speak_for_a_run_that_failed(run, folder, tmp_path, texts):
    path = tmp_path / "out.xml"
    assert run("check", folder / "scores.csv", "--max-ks", "1", "--junit", path).status == 0
    done = run("check", folder / "percent.csv", "--max-ks", "1", "--junit", path)
    assert done.status == 2
    (suite,) = ElementTree.parse(path).getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
    texts.shown(suite.find("testcase/error").get("message"))


def test_junit_that_cannot_be_written_is_told(run, folder, tmp_path):
    path = tmp_path / "none" / "out.xml"
    done = run("check", folder / "scores.csv", "--max-ks", "1", "--junit", path)
    assert (done.status, done.out) == (2, "")
    assert str(path) in done.err


def test_a_check_needs_a_limit(run, folder, texts):
    done = run("check", folder / "scores.csv")
    assert done.status == 2
    texts.shown(done.err)


@pytest.fixture(scope="session")
def answers(folder):
    """A file of confidences that are mostly right, and another of its kind."""
    rng = np.random.default_rng(0)
    for name in ("answers", "others"):
        score = rng.beta(6, 1, 1000).round(4)
        right = (rng.random(1000) < score).astype(int)
        frame = pd.DataFrame({"correct": right, "confidence": score})
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder / "answers.csv"


def test_a_certified_share_is_a_limit(run, answers, tmp_path, texts):
    expected = calib.certify(calib.load(answers), 0.1)
    command = ("check", answers, "--certify-error", 0.1)
    done = run(*command)
    assert done.status == 0
    assert done.out == f"pass: {expected.sentence[:-1]} (Uncalibrated, 1000 rows)\n"
    assert f"note: {expected.tested_on}" in done.err
    place = tmp_path / "share.xml"
    statuses = [
        run(*command, "--min-share", repr(expected.share + more), "--junit", place).status
        for more in (0.0, 1e-9)
    ]
    assert statuses == [0, 1]
    (case,) = ElementTree.parse(place).iter("testcase")
    texts.shown(case.get("name"))
    assert expected.sentence[:-1] in case.find("failure").get("message")


def test_a_confidence_that_would_be_written_as_100_percent_is_refused(run, answers, texts):
    command = ("check", answers, "--certify-error", 0.1, "--certify-confidence", 1.0 - 1e-13)
    done = run(*command)
    assert done.status == 2
    texts.shown(done.err)


def test_no_certified_threshold_fails(run, folder, answers, texts):
    done = run("check", answers, "--certify-error", 0.001)
    assert done.status == 1
    texts.shown(done.out)
    both = run("check", answers, "--certify-error", 0.1, "--certify-sides", "both")
    expected = calib.certify(calib.load(answers), 0.1, sides="both")
    assert expected.sentence[:-1] in both.out


def test_a_calibrator_is_certified_on_test_rows_only(run, folder, answers, texts):
    command = ("check", answers, "--method", "platt", "--certify-error", 0.1)
    done = run(*command)
    assert done.status == 2
    texts.shown(done.err)
    tested = run(*command, "--test", folder / "others.csv")
    # An increasing calibrator decides the same rows as the uncalibrated scores.
    uncalibrated = calib.certify(calib.load(answers, test=folder / "others.csv"), 0.1)
    share = uncalibrated.sentence.split("look: ")[1][:-1]
    assert share in tested.out
    texts.shown(tested.err)


def test_wrong_shares_are_refused(run, answers, texts):
    for wrong in (0, 1, "x"):
        done = run("check", answers, "--certify-error", wrong)
        assert done.status == 2
        texts.shown(done.err, "each case")
    done = run("check", answers, "--max-ks", 1, "--min-share", 0.5)
    assert done.status == 2
    texts.shown(done.err)
