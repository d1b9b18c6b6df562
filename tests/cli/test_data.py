"""How commands read a file that leaves something open."""

import shlex

import numpy as np
import pandas as pd
import pytest

import calib
from calib.reports import Report
from calib.reports.render.reproduction import command_line, library_call
from tests.rare import rare

RNG = np.random.default_rng(3)
N = 400
P = RNG.uniform(0.05, 0.95, N).round(4)
Y = (RNG.random(N) < P).astype(int)
FRAME = pd.DataFrame({"y": Y, "p": P})
CHECK = ("--max-ks", "0.9")


@pytest.fixture
def check(run, tmp_path):
    def done(text, *options):
        path = tmp_path / "rows.csv"
        path.write_text(text)
        return run("check", path, *options, *CHECK)

    return done


def test_strict_refuses_a_guess_and_names_the_option(check, texts):
    text = FRAME.to_csv(index=False)
    assert check(text).status == 0
    done = check(text, "--strict")
    assert done.status == 2
    texts.shown(done.err)
    texts.shown(done.err)
    assert check(text, "--strict", "--outcome", "y", "--score", "p").status == 0


def test_strict_takes_several_positive_labels(check):
    words = FRAME.assign(y=np.where(Y == 1, np.array(["III", "IV"])[np.arange(N) % 2], "I"))
    columns = ("--strict", "--outcome", "y", "--score", "p")
    text = words.to_csv(index=False)
    assert check(text, *columns).status == 2
    assert check(text, *columns, "--positive", "III", "--positive", "IV").status == 0


def test_a_first_line_that_may_be_data_is_settled_by_an_option(check, texts):
    text = pd.DataFrame({0: Y, 1: P}).to_csv(index=False)
    done = check(text)
    assert done.status == 2
    texts.shown(done.err)
    assert check(text, "--header").out.endswith(f"{N} rows)\n")
    assert check(text, "--no-header").out.endswith(f"{N + 1} rows)\n")


def test_a_mark_of_two_meanings_is_settled_by_an_option(check):
    text = FRAME.assign(sample_weight=["1,234", "999"] * (N // 2)).to_csv(index=False)
    done = check(text)
    assert done.status == 2
    assert "--decimal , or --decimal ." in done.err
    assert check(text, "--decimal", ".").status == 0


def test_repeats_are_noted_and_break_nothing(check):
    text = pd.concat([FRAME, FRAME[:9]]).to_csv(index=False)
    repeated = int(pd.concat([FRAME, FRAME[:9]]).duplicated().sum())
    done = check(text, "--strict", "--outcome", "y", "--score", "p")
    assert done.status == 0
    assert str(repeated) in done.err.splitlines()[1]
    assert done.out.count("\n") == 1


def test_a_file_of_counts_is_read_as_such(folder, run, tmp_path, texts):
    rows = calib.load(
        folder / "scores.parquet", outcome="y", score="p", slices=("half",), time="times"
    )
    path = tmp_path / "counts.parquet"
    calib.aggregate(rows).save(path)
    arguments = ("--outcome", "y", "--score", "p", "--slice", "half", "--time", "times")
    methods = ("--methods", "platt")
    files = [tmp_path / "rows.json", tmp_path / "counts.json"]
    assert (
        run("report", folder / "scores.parquet", *arguments, *methods, "-o", files[0]).status == 0
    )
    done = run("report", path, "--name", "scores.parquet", *methods, "-o", files[1])
    assert done.status == 0
    texts(done.err, "words")
    one, other = (Report.open(file) for file in files)
    assert one.analysis.table().equals(other.analysis.table())
    assert other.parts.slices[0].gaps["platt"].names == one.parts.slices[0].gaps["platt"].names
    assert list(other.parts.periods.tables["platt"].rows) == list(
        one.parts.periods.tables["platt"].rows
    )
    checks = [
        run("check", *data, "--max-ks", "0.5")
        for data in ((path,), (folder / "scores.parquet", *arguments))
    ]
    assert (checks[0].status, checks[0].out) == (checks[1].status, checks[1].out)
    wrong = run("check", path, "--score", "p", "--max-ks", "0.5")
    assert wrong.status == 2
    texts.shown(wrong.err)


@rare
def test_a_sample_of_a_folder_is_reported_and_made_again(run, tmp_path, monkeypatch, texts):
    monkeypatch.chdir(tmp_path)
    score = RNG.dirichlet(np.ones(3), 900)
    rows = pd.DataFrame(score, columns=["p_ant", "p_bee", "p_cow"]).assign(row=range(900))
    rows["y"] = [RNG.choice(["ant", "bee", "cow"], p=column) for column in score]
    (tmp_path / "parts").mkdir()
    rows.iloc[:500].to_parquet(tmp_path / "parts" / "0.parquet")
    rows.iloc[500:].to_parquet(tmp_path / "parts" / "1.parquet")
    scores = [word for name in ("p_ant", "p_bee", "p_cow") for word in ("--score", name)]
    options = ("--outcome", "y", *scores, "--methods", "temperature", "-o", "r.json")
    drawn = ("--sample", 300, "--sample-key", "row", "--sample-seed", 5)
    done = run("report", "parts", *drawn, *options)
    assert done.status == 0
    texts(done.err)
    report = Report.open("r.json")
    assert "These are 300 of 900 rows" in report.analysis.warnings[0]
    column = calib.scan_sample(
        "parts", n=300, key="row", seed=5, outcome="y", score=["p_ant", "p_bee", "p_cow"]
    )
    assert report.analysis.data.fingerprint == column.fingerprint
    _, *arguments = shlex.split(command_line(report).replace("settings.json", "r.json"))
    assert run(*arguments[:-1], "again.json").status == 0
    assert Report.open("again.json").analysis.data == report.analysis.data
    exec(library_call(report), names := {})
    assert names["report"].analysis.data == report.analysis.data


REFUSED = {
    "Examples are small and are read whole: leave out --sample.": (
        "example:naive_bayes",
        *("--sample", "500"),
    ),
    "--sample-key needs --sample, the number of rows to draw.": ("--sample-key", "household"),
    "n must be from 100 to 1,000,000, got 5.": ("--sample", "5"),
    "The column `nobody` of `key` is not in the source.": (
        *("--sample", "200"),
        *("--sample-key", "nobody"),
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_a_sample_that_cannot_be_drawn_is_refused_in_a_sentence(sentence, folder, run):
    options = REFUSED[sentence]
    files = [] if options[0].startswith("example:") else [folder / "scores.csv"]
    done = run("check", *files, *options, *CHECK)
    assert (done.status, done.err) == (2, f"calib: {sentence}\n")


def test_reversed_scores_are_warned_of_with_the_options_that_settle_it(run, tmp_path, texts):
    path, rng = tmp_path / "rows.csv", np.random.default_rng(0)
    p = rng.random(400)
    answer = np.where(rng.random(400) < p, "yes", "no")
    pd.DataFrame({"paid": answer, "risk": 1 - p}).to_csv(path, index=False)
    texts(run("check", path, "--max-ks", 0.9).err)
    for options in (["--swap"], ["--positive", "no"], ["--score", "risk", "--positive", "yes"]):
        assert "warning" not in run("check", path, "--max-ks", 0.9, *options).err
    made = run("export", path, "--method", "platt", "-o", tmp_path / "map.json")
    assert "--swap or --positive no or" in made.err


def test_a_third_label_is_asked_about(tmp_path, run):
    path = tmp_path / "rows.csv"
    path.write_text("y,p\n" + "0,0.2\n1,0.8\n0,0.4\n1,0.6\n#REF!,0.5\n" * 60)
    arguments = (
        "check",
        path,
        "--outcome",
        "y",
        "--score",
        "p",
        "--positive",
        "1",
        "--max-ks",
        "1",
    )
    refused = run(*arguments, "--strict")
    assert refused.status == 2
    assert "--negative" in refused.err
    assert "--others-negative" in refused.err
    assert run(*arguments, "--strict", "--others-negative").status == 0
    assert run(*arguments, "--strict", "--negative", "0", "--drop-missing").status == 0
