"""``calib judge``, and the limits of ``calib check`` for judges."""

import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import calib
from calib.reports import Report


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("judge"), np.random.default_rng(3)
    truth = rng.random(2000) < 0.75
    score = np.where(truth, rng.beta(6, 2, 2000), rng.beta(3, 3, 2000)).round(3)
    judged = pd.DataFrame({"id": np.arange(2000), "judge_score": score})
    judged["other"] = rng.random(2000).round(3)
    judged.to_csv(folder / "judged.csv", index=False)
    gold = pd.DataFrame({"id": np.arange(0, 2000, 20)})
    gold["label"] = np.where(truth[::20], "pass", "fail")
    gold.to_csv(folder / "gold.csv", index=False)
    return folder / "judged.csv", folder / "gold.csv"


@pytest.fixture(scope="module")
def result(files):
    return calib.judge(*files)


def test_text_says_the_numbers_of_the_library(run, files, result, texts):
    done = run("judge", files[0], "--gold", files[1], "--width", 0.1)
    assert done.status == 0
    first, *lines = done.out.splitlines()
    assert first == result.sentence
    shown = {line[2:16].strip(): line[17:] for line in lines[:-1]}
    assert shown["labels saved"] == str(result.labels_saved)
    assert shown["agreement"].startswith(f"{100 * result.agreement:.1f}% (")
    assert shown["agreement"].endswith(f"constant answer {100 * result.constant_accuracy:.1f}%")
    assert shown["kappa"].startswith(f"{result.kappa:.2f} (")
    assert str(result.labels_for(0.1)) in lines[-1]
    texts(done.err)


def test_json_has_the_numbers_of_each_judge(run, files, result):
    scores = ("--score", "judge_score", "--score", "other")
    done = run("judge", files[0], "--gold", files[1], *scores, "--json", "--width", 1e-6)
    first, second = json.loads(done.out)["judges"]
    assert (first["judge"], second["judge"]) == ("judge_score", "other")
    assert first["mean_low"] == pytest.approx(result.interval[0])
    assert first["kappa"] == pytest.approx(result.kappa)
    assert first["sentence"] == result.sentence
    assert first["labels_needed"] is None
    assert second["labels_saved"] <= 2


def test_numbers_that_do_not_exist_are_null(run, files, texts):
    half = pd.read_csv(files[1])
    half["id"] = pd.read_csv(files[0])["judge_score"].to_numpy().argsort()[-100:]
    half.to_csv(files[1].with_name("half.csv"), index=False)
    options = ("--score", "judge_score", "--json")
    (only,) = json.loads(
        run("judge", files[0], "--gold", files[1].with_name("half.csv"), *options).out
    )["judges"]
    assert only["mean"] is None
    assert only["supported"] is False
    texts.shown(only["sentence"])


def test_the_rows_to_label_next_are_a_file(run, files, tmp_path, texts):
    place = tmp_path / "next.csv"
    command = ("judge", files[0], "--gold", files[1], "--next", place, "--next-rows", 30)
    run(*command)
    written = pd.read_csv(place)
    assert list(written.columns) == ["row", "id", "other", "gold"]
    assert len(written) == 30
    first = place.read_bytes()
    run(*command)
    assert place.read_bytes() == first
    run(*command, "--seed", 1)
    assert place.read_bytes() != first
    two = run(*command, "--score", "judge_score", "--score", "other")
    assert two.status == 2
    texts.shown(two.err)


def test_the_rows_to_label_next_hold_no_formula_and_their_labels_match(run, files, tmp_path):
    judged, gold = (pd.read_csv(file) for file in files)
    formulas = {"id": "=cmd(" + judged["id"].astype("str") + ")"}
    judged = judged.assign(**formulas, answer='=HYPERLINK("http://x")')
    judged.to_csv(tmp_path / "judged.csv", index=False)
    gold.assign(id="=cmd(" + gold["id"].astype("str") + ")").to_csv(
        tmp_path / "gold.csv", index=False
    )
    command = ("judge", tmp_path / "judged.csv", "--score", "judge_score", "--gold")
    run(*command, tmp_path / "gold.csv", "--next", tmp_path / "next.csv")
    written = pd.read_csv(tmp_path / "next.csv")
    assert written["id"].str.startswith("'=").all()
    assert written["answer"].str.startswith("'=").all()
    written.assign(gold=["pass", "fail"] * 25).to_csv(tmp_path / "filled.csv", index=False)
    assert run(*command, tmp_path / "filled.csv").status == 0


def test_gold_labels_come_from_standard_input_or_the_same_file(run, files, tmp_path, result):
    judged, gold = (pd.read_csv(file) for file in files)
    judged.merge(gold, how="left").to_csv(tmp_path / "one.csv", index=False)
    done = run("judge", tmp_path / "one.csv", "--outcome", "label", "--score", "judge_score")
    assert done.out.startswith(result.sentence)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--gold": "missing.csv"}, "There is no readable file"),
        ({"--score": "nil"}, "The score column `nil` is not in the table"),
        ({"--scale": (5, 1)}, "low < high and be finite, got 5.0 and 1.0"),
        ({"--width": 0}, "width must be above 0, got 0.0"),
        ({"--level": 2}, "confidence_level must fulfil 0 < level < 1, got 2.0"),
    ],
)
def test_bad_input_is_a_sentence_and_status_2(run, files, change, said):
    options = {"--gold": files[1]} | change
    parts = [
        word
        for name, value in options.items()
        for word in (name, *(value if isinstance(value, tuple) else (value,)))
    ]
    done = run("judge", files[0], *parts)
    assert done.status == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_check_turns_where_the_number_of_the_library_lies(run, files, result):
    command = ("check", files[0], "--gold", files[1])
    width = result.interval[1] - result.interval[0]
    for name, value, sign in (("--min-kappa", result.kappa, 1), ("--max-width", width, -1)):
        assert run(*command, name, repr(value - sign * 0.001)).status == 0
        done = run(*command, name, repr(value + sign * 0.001))
        assert done.status == 1
        assert done.out.startswith("fail: ")
        assert result.sentence in done.err


def test_check_writes_junit_of_each_judge(run, files, tmp_path):
    place = tmp_path / "judge.xml"
    scores = ("--score", "judge_score", "--score", "other")
    limits = ("--min-kappa", 0.3, "--junit", place)
    done = run("check", files[0], "--gold", files[1], *scores, *limits)
    assert done.status == 1
    cases = {case.get("name"): case[0].tag for case in ElementTree.parse(place).iter("testcase")}
    assert cases == {
        "kappa of `judge_score` at least 0.3": "system-out",
        "number of gold labels of `judge_score` at least 50": "system-out",
        "kappa of `other` at least 0.3": "failure",
        "number of gold labels of `other` at least 50": "system-out",
    }


def test_too_few_labels_meet_no_limit(run, files, tmp_path, texts):
    gold = pd.read_csv(files[1])
    for n_labels, status in ((49, 1), (50, 0)):
        gold.head(n_labels).to_csv(tmp_path / "few.csv", index=False)
        limits = ("--min-kappa", -1, "--max-width", 1, "--score", "judge_score")
        done = run("check", files[0], "--gold", tmp_path / "few.csv", *limits)
        assert done.status == status
    gold.head(49).to_csv(tmp_path / "few.csv", index=False)
    done = run("check", files[0], "--gold", tmp_path / "few.csv", *limits)
    texts(done.out)


def test_a_model_that_cannot_be_analysed_meets_no_limit(run, files, tmp_path, texts):
    judged = pd.read_csv(files[0])
    labelled = judged["id"].isin(pd.read_csv(files[1])["id"])
    judged.assign(model=np.where(labelled, "seen", "unseen")).to_csv(tmp_path / "two.csv")
    command = ("check", tmp_path / "two.csv", "--gold", files[1], "--model", "model")
    done = run(*command, "--score", "judge_score", "--min-kappa", 0.1, "--junit", tmp_path / "x")
    assert done.status == 1
    texts(done.out)
    texts.shown(done.err)
    assert "kappa of `seen` at least 0.1" in (tmp_path / "x").read_text()


def test_a_refused_pass_rate_has_no_width(run, files, tmp_path):
    judged = pd.read_csv(files[0])
    gold = pd.DataFrame({"id": judged["judge_score"].to_numpy().argsort()[-100:]})
    gold.assign(label=["pass", "fail"] * 50).to_csv(tmp_path / "high.csv", index=False)
    limits = ("--max-width", 1, "--score", "judge_score")
    assert run("check", files[0], "--gold", tmp_path / "high.csv", *limits).status == 1


def test_limits_of_judges_and_of_predictions_are_not_mixed(run, files, texts):
    done = run("check", files[0], "--gold", files[1], "--min-kappa", 0.1, "--max-ks", 0.1)
    assert done.status == 2
    texts.shown(done.err)


def test_a_report_of_a_judge(run, files, result, tmp_path):
    place = tmp_path / "judge.json"
    command = ("report", files[0], "--gold", files[1], "-o", place, "--title", "March")
    done = run(*command, "-o", tmp_path / "judge.html", "--score", "judge_score")
    assert done.status == 0
    report = Report.open(place)
    assert report.heading == "March"
    assert report.parts.judge.numbers.interval == pytest.approx(result.interval)
    assert run("verify", place).status == 0
    run(*command, "--score", "judge_score", "--level", 0.9)
    wider = Report.open(place).parts.judge.numbers
    assert wider.confidence_level == 0.9
    assert wider.interval[0] > result.interval[0]


def test_a_report_has_one_judge(run, files, tmp_path, texts):
    scores = ("--score", "judge_score", "--score", "other")
    done = run("report", files[0], "--gold", files[1], *scores, "-o", tmp_path / "x.json")
    assert done.status == 2
    texts.shown(done.err)


def test_a_log_with_several_scorers_asks_for_one(run, tmp_path):
    cases = [
        {
            "name": str(number),
            "metricsData": [
                {"name": "Faithfulness", "score": number % 10 / 10, "success": True},
                {"name": "Bias", "score": 1 - number % 10 / 10, "success": True},
            ],
        }
        for number in range(100)
    ]
    (tmp_path / "run.json").write_text(json.dumps({"testCases": cases}))
    gold = pd.DataFrame({"sample_id": range(100), "label": ["pass", "fail"] * 50})
    gold.to_csv(tmp_path / "gold.csv", index=False)
    files = tmp_path / "run.json", tmp_path / "gold.csv"
    asked = run("judge", files[0], "--gold", files[1])
    assert asked.status == 2
    assert "--scorer Faithfulness or --scorer Bias" in asked.err
    done = run("judge", files[0], "--gold", files[1], "--scorer", "Bias")
    assert done.status == 0
    assert done.out.startswith(calib.judge(*files, scorer="Bias").sentence)
    limits = ("--scorer", "Bias", "--min-kappa", -1)
    assert run("check", files[0], "--gold", files[1], *limits).status == 0
    with pytest.raises(calib.InputError, match="scorer='Faithfulness' or scorer='Bias'"):
        calib.judge(*files)
    with pytest.raises(TypeError, match="score_column"):
        calib.judge(*files, score_column="Bias")


def test_ratings_and_labels_name_the_options_that_repair_them(run, files, tmp_path):
    judged, gold = (pd.read_csv(file) for file in files)
    judged.assign(judge_score=1 + 4 * judged["judge_score"]).to_csv(tmp_path / "j.csv", index=False)
    gold.assign(label=gold["label"].map({"pass": "B", "fail": "A"})).to_csv(
        tmp_path / "g.csv", index=False
    )
    command = ("judge", tmp_path / "j.csv", "--score", "judge_score", "--gold", tmp_path / "g.csv")
    assert "--positive B or --positive A" in run(*command).err
    assert "--scale 1 5 or --scale 0 5" in run(*command, "--positive", "B").err
    assert run(*command, "--positive", "B", "--scale", 1, 5).status == 0


def test_the_threshold_of_the_judge(run, files):
    done = run("judge", files[0], "--gold", files[1], "--threshold", 0.9, "--json")
    (only,) = json.loads(done.out)["judges"]
    assert only["kappa"] == pytest.approx(calib.judge(*files, threshold=0.9).kappa)


def test_the_help_is_in_words(run, texts):
    texts.shown(run("judge", "--help").out)
