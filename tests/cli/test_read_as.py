"""Every command that reads predictions says on one line what it read, and what it guessed."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.data.file_options import Columns
from calib.data.origin import Origin, read_as
from calib.reports import Report

RNG = np.random.default_rng(3)
P = RNG.random(200)
Y = (RNG.random(200) < P).astype(int)
READ = "outcome: target, score: risk, positive: 1, slices: sex (guessed)"
GUESSED = f"{READ} · outcome and score: its name says so\n"
COMMANDS = {
    "report": ("--methods", "platt", "-o", "r.json"),
    "check": ("--max-ks", "1"),
    "export": ("--method", "platt", "-o", "m.json"),
}


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"sex": RNG.integers(0, 2, 200), "target": Y, "risk": P})
    frame.to_csv("rows.csv", index=False)


def first_line(done):
    """What was read; `check` prints its tests after it."""
    return done.err.partition("\n")[0] + "\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_what_it_guessed(command, rows, run, texts):
    done = run(command, "rows.csv", *COMMANDS[command])
    assert (done.status, first_line(done)) == (0, GUESSED)
    done = run(command, "rows.csv", "--outcome", "target", *COMMANDS[command])
    texts(first_line(done), "each case")
    arguments = ("--outcome", "target", "--score", "risk", "--positive", "1", "--exact")
    done = run(command, "rows.csv", *arguments, *COMMANDS[command])
    texts(first_line(done), "each case, 2")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_asks_which_column_is_the_outcome(command, rows, run, texts):
    frame = pd.read_csv("rows.csv").rename(columns={"target": "sick"})
    frame.to_csv("rows.csv", index=False)
    done = run(command, "rows.csv", *COMMANDS[command])
    assert done.status == 2
    # The column that the score predicts is offered first.
    texts.shown(done.err, "each case")
    named = run(command, "rows.csv", "--outcome", "sick", *COMMANDS[command])
    assert named.status == 0


def test_an_exceeded_limit_comes_with_the_line(rows, run):
    frame = pd.read_csv("rows.csv")
    frame.assign(risk=frame["risk"] / 3.0).to_csv("rows.csv", index=False)
    done = run("check", "rows.csv", "--max-ks", "0.0001", "--junit", "j.xml")
    assert (done.status, first_line(done)) == (1, GUESSED)


def test_a_report_a_value_and_junit_say_the_same(rows, run, tmp_path):
    run("report", "rows.csv", "--methods", "platt", "-o", "r.json", "-o", "r.md")
    run("check", "rows.csv", "--max-ks", "1", "--junit", "j.xml")
    line = READ
    assert Report.open("r.json").analysis.data.read_as == line
    predictions = calib.load("rows.csv")
    assert predictions.read_as == line
    assert repr(predictions) == f"Predictions('rows', 200 rows, {line})"
    assert calib.analyze(predictions).data.read_as == line
    for file in ("r.md", "j.xml"):
        assert line in (tmp_path / file).read_text()


def test_a_scan_says_which_class_it_took_as_positive(rows, run, texts):
    frame = pd.DataFrame({"y": np.where(Y, "yes", "no"), "p": P, "b": Y})
    frame.to_csv("words.csv", index=False)
    arguments = ("scan", "words.csv", "--score", "p", "-o", "cells.parquet", "--outcome")
    first = {
        options: run(*arguments, *options).err.splitlines()[0]
        for options in (("y",), ("y", "--positive", "no"), ("b",))
    }
    texts("\n".join(list(first.values())))


def test_the_server_says_what_it_opened(rows, run, nothing_served, monkeypatch):
    monkeypatch.setattr("calib.ui.session.serving.serve", lambda *_: None)
    assert run("serve", "rows.csv").err == f"{READ}\n"
    pd.DataFrame({"y": Y, "p_old": P, "p_new": P**2}).to_csv("models.csv", index=False)
    words = "outcome: y, score: {0}, positive: 1 (guessed)"
    models = [f"{name}: {words.format(name)}" for name in ("p_old", "p_new")]
    assert run("serve", "models.csv").err.splitlines() == models


def test_no_name_of_a_file_steers_the_terminal_or_fills_it():
    name = "p\x1b[2J\n" + "x" * 100
    line = read_as(Origin(Columns(score=name)), outcome="y", score=name, positive="1")
    assert f"{'x' * 33}…" in line


def test_a_matrix_has_classes_and_no_positive_one(texts):
    scores = RNG.dirichlet(np.ones(3), 60)
    frame = pd.DataFrame(scores, columns=["p_0", "p_1", "p_2"]).assign(y=np.arange(60) % 3)
    predictions = calib.load(frame)
    texts(predictions.read_as)
    assert "positive" not in calib.analyze(predictions).data.read_as
    texts(repr(calib.Predictions.from_arrays(np.arange(60) % 3, scores)))
