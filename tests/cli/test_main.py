"""Exit statuses and sentences of the whole command line."""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import calib
from calib.analysis.decisions.certificate import Sides
from calib.analysis.periods import UNITS
from calib.analysis.summary import LIMITS
from calib.cli.main import main, program
from calib.cli.options import CertificateOptions, Limits, PartsOptions, ReportWords, SettingsOptions
from calib.cli.parameters import option_of
from calib.crossfit.settings import Band, Settings, Strategy, default_settings
from calib.exports import TARGETS
from calib.numerics.transforms import EpsilonRule
from calib.reports import Declared, Parts, Report, ReportComparison
from calib.reports.contents.evidence import GRADES
from tests.rare import common_first, rare
from tests.reports.kept import KEPT

ROOT = Path(__file__).parents[2]
PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
SUBJECT = serialization.PublicFormat.SubjectPublicKeyInfo


@pytest.mark.parametrize(
    ("file", "options", "sentence"),
    [
        ("none.csv", (), "There is no readable file"),
        ("scores.csv", ("--outcome", "z"), "The outcome column `z` is not in the table."),
        ("percent.csv", (), "divide them by 100. On the command line: --transform percent."),
        ("one_class.csv", (), "yes"),
        ("scores.csv", ("--bins", "1"), "n_bins must fulfil 2 <= n_bins <= 100, got 1."),
        ("scores.csv", ("--level", "95"), "confidence_level must fulfil 0 < level < 1, got 95.0."),
        ("scores.csv", ("--view", "class:7"), "got 'class:7'."),
        ("scores.csv", ("--test", "none.csv"), "There is no readable file `none.csv`."),
    ],
)
def test_bad_input_is_a_sentence_and_status_2(run, folder, tmp_path, file, options, sentence):
    for command in (("report", "-o", tmp_path / "r.json"), ("check", "--max-ks", "1")):
        done = run(command[0], folder / file, *command[1:], *options)
        assert (done.status, done.out) == (2, "")
        *before, last = done.err.splitlines()
        assert last.startswith("calib: ")
        assert sentence in last
        # The rows may have been read before the setting was refused.
        assert [line[:8] for line in before] in ([], ["outcome:"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fly",), "No such command 'fly'."),
        (("chek",), "Did you mean 'check'?"),
        (("monitor",), "Missing command."),
        (("report", "x.csv"), "Missing option '-o' / '--output'."),
        (("check", "x.csv", "--max-ks", "nan"), "at least 0 and at most 1, got 'nan'."),
        (("check", "x.csv", "--max-ks", "-1"), "at least 0 and at most 1, got '-1'."),
        (("check", "x.csv", "--max-ks", "low"), "at least 0 and at most 1, got 'low'."),
        (("monitor", "check", "--name=--"), "The value `--` of --name ends the options."),
        (("report", "x.csv", "-o", "r.json", "--score=--"), "The value `--` of --score ends"),
        (("check", "x.csv", "--max-k", "1"), "No such option '--max-k'. (Did you mean"),
        (("check", "x.csv", "--method", "magic", "--max-ks", "1"), "'magic' is not one of"),
        (("check", "x.csv", "--bins", "many", "--max-ks", "1"), "'many' is not a valid integer."),
        (("check", "x.csv", "--score", "--max-ks", "1"), "--score needs a value, got the option"),
        (
            ("monitor", "check", "--name", "x", "--webhook", "https://x", "--webhook-file", "x"),
            "--webhook and --webhook-file both name the address",
        ),
        (("check", "x.csv", "--score"), "'--score' requires an argument."),
    ],
)
def test_bad_options_are_a_sentence_and_status_2(run, arguments, sentence):
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err


def test_an_unknown_method_of_a_report_is_told(run, folder, tmp_path, texts):
    done = run("report", folder / "scores.csv", "--methods", "magic", "-o", tmp_path / "r.json")
    assert done.status == 2
    texts.shown(done.err)
    assert "got 'magic'." in done.err


def test_a_fault_is_status_3_and_not_that_of_a_broken_limit(run, folder, monkeypatch):
    def fault(*_: object, **__: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("calib.cli.check.analyze", fault)
    done = run("check", folder / "scores.csv", "--max-ks", "1")
    assert (done.status, done.out) == (3, "")
    assert "ZeroDivisionError: ours" in done.err


def test_a_person_may_interrupt(run, folder, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("calib.cli.check.analyze", interrupt)
    assert run("check", folder / "scores.csv", "--max-ks", "1").status == 130


INTERRUPTED_AT_THE_END = """
import atexit, os, signal, sys

atexit.register(os.kill, os.getpid(), signal.SIGINT)
from calib.__main__ import main
sys.exit(main())
"""
INTERRUPTED_WHILE_IMPORTING = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from calib.__main__ import main
sys.exit(main())
"""


@rare
@pytest.mark.parametrize("code", [INTERRUPTED_WHILE_IMPORTING, INTERRUPTED_AT_THE_END])
def test_an_interrupt_is_quiet_while_libraries_are_imported_and_at_the_end(code):
    command = [sys.executable, "-c", code, "--version"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"")


INTERRUPTED_TWICE = """
import os, shutil, signal, sys

def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)

# While standard input is copied, and while the copy is removed.
shutil.copyfileobj = interrupt
from tempfile import TemporaryDirectory
removed = TemporaryDirectory._rmtree.__func__

def remove(cls, *arguments, **named):
    os.kill(os.getpid(), signal.SIGINT)
    removed(cls, *arguments, **named)

TemporaryDirectory._rmtree = classmethod(remove)
from calib.__main__ import main
sys.exit(main())
"""


@rare
def test_whoever_interrupts_twice_leaves_no_folder(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED_TWICE, "check", "-", "--max-ks", "1"]
    variables = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        command, cwd=ROOT, env=variables, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, b"")
    assert list(tmp_path.iterdir()) == []


def piped(monkeypatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("name", ["scores.csv", "scores.parquet"])
def test_a_dash_reads_standard_input(name, run, folder, monkeypatch):
    file = folder / name
    expected = run("check", file, "--max-ks", "1").out
    piped(monkeypatch, file.read_bytes())
    assert run("check", "-", "--max-ks", "1").out == expected
    piped(monkeypatch, (folder / "more.csv").read_bytes())
    tested = run("check", file, "--test", "-", "--max-ks", "1")
    assert tested.out.endswith("400 rows)\n")


def test_a_report_can_come_from_standard_input(run, monkeypatch):
    expected = run("compare", KEPT, KEPT)
    piped(monkeypatch, KEPT.read_bytes())
    done = run("compare", "-", KEPT)
    assert (done.status, done.out) == (0, expected.out)


def test_what_is_verified_can_come_from_standard_input(run, folder, tmp_path, monkeypatch, texts):
    made = run("report", folder / "scores.csv", "-o", tmp_path / "report.json")
    assert made.status == 0
    expected = run("verify", tmp_path / "report.json")
    piped(monkeypatch, (tmp_path / "report.json").read_bytes())
    done = run("verify", "-")
    assert (done.status, done.out) == (0, expected.out)
    assert done.out.startswith("consistent: ")
    piped(monkeypatch, b"SELECT 1")
    done = run("verify", "-")
    assert (done.status, done.out) == (2, "")
    texts.shown(done.err)


def test_verify_says_what_is_no_report_as_json(run, tmp_path, texts):
    comparison = tmp_path / "both.json"
    assert run("compare", KEPT, KEPT, "-o", comparison).status == 0
    done = run("verify", comparison)
    assert (done.status, done.out) == (2, "")
    texts.shown(done.err)
    for name in ("report.html", "report.md", "report.zip"):
        (tmp_path / name).write_text("x")
        done = run("verify", tmp_path / name)
        assert (done.status, done.out) == (2, "")
        assert f"{name}" in done.err


@pytest.mark.parametrize("name", common_first(["scores.csv", "scores.parquet"], ["scores.csv"]))
def test_what_is_counted_can_come_from_standard_input(name, run, folder, tmp_path, monkeypatch):
    arguments = ("--outcome", "y", "--score", "p", "-o")
    counted = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    assert run("scan", folder / name, *arguments, counted[0]).status == 0
    piped(monkeypatch, (folder / name).read_bytes())
    assert run("scan", "-", *arguments, counted[1]).status == 0
    first, second = map(calib.Aggregate.load, counted)
    assert first.fingerprint == second.fingerprint
    assert second.name == "standard-input"


def test_a_scan_names_the_option_that_repairs(run, folder, tmp_path):
    arguments = ("scan", folder / "percent.csv", "--outcome", "y", "--score", "p", "-o")
    done = run(*arguments, tmp_path / "cells.parquet")
    assert (done.status, done.out) == (2, "")
    repair = "On the command line: --transform percent."
    assert str(repair) in done.err
    assert "Python" not in done.err
    assert run(*arguments, tmp_path / "cells.parquet", "--transform", "percent").status == 0


def test_standard_input_is_read_once(run, texts):
    done = run("check", "-", "--test", "-", "--max-ks", "1")
    assert (done.status, done.out) == (2, "")
    texts(done.err)


@pytest.mark.parametrize(
    ("typed", "offered"), [("calib che", "check"), ("calib check x --max-k", "--max-ks")]
)
def test_a_shell_completes_commands_and_options(typed, offered, run, tmp_path):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not here: skipped")
    (tmp_path / "calib.sh").write_text(run("--print-completion", "bash").out)
    program = tmp_path / "calib"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m calib "$@"\n')
    program.chmod(0o755)
    words = " ".join(map(shlex.quote, typed.split()))
    last = len(typed.split()) - 1
    asked = f". ./calib.sh; COMP_WORDS=({words}); COMP_CWORD={last}; _calib_completion ./calib"
    script = f'{asked}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        [bash, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert offered in done.stdout.split(), done.stderr


def test_every_setting_has_an_option_with_words():
    for command, left_out in (("report", set()), ("check", {"methods"})):
        by_name = {one.name: one for one in program().commands[command].params}
        for field in fields(Settings):
            if field.name not in left_out:
                assert by_name[field.name].opts == [option_of(field.name)]
                assert len(by_name[field.name].help) > 10


def allowed(kind, name: str) -> tuple[str, ...]:
    """The values of a Literal in an annotation, or in one of its parts."""
    hint = get_type_hints(kind)[name]
    return next(get_args(one) for one in (hint, *get_args(hint)) if get_origin(one) is Literal)


def test_values_that_the_help_does_not_import_are_those_of_the_library():
    assert allowed(PartsOptions, "unit") == UNITS
    assert allowed(ReportWords, "grade") == GRADES
    assert allowed(ReportWords, "held_out") == get_args(Declared)
    assert allowed(CertificateOptions, "certify_sides") == get_args(Sides)
    for name, kind in (("strategy", Strategy), ("band", Band), ("epsilon_rule", EpsilonRule)):
        assert allowed(SettingsOptions, name) == get_args(kind)
    assert [one.name for one in fields(Limits)] == [limit.argument for limit in LIMITS]
    assert PartsOptions().n_ranges == Parts().n_ranges


@pytest.mark.parametrize(
    ("command", "formats"),
    [("report", Report.formats), ("compare", ReportComparison.formats), ("export", TARGETS)],
)
def test_the_help_names_every_format(command, formats, run):
    words = " ".join(run(command, "--help").out.partition("--output")[2].split())
    assert set(re.findall(r"\.\w+", words.partition("--")[0])) == set(formats)


def test_the_help_states_the_defaults_of_the_settings(run):
    words = " ".join(run("report", "--help").out.split())
    for name in ("n_bins", "n_folds", "seed", "confidence_level"):
        after = words.partition(f"{option_of(name)} NUMBER")[2].partition(" --")[0]
        assert f"(default: {Settings.defaults()[name]})" in after


def test_help_needs_neither_numpy_nor_pandas():
    code = "import sys\nfrom calib.cli import main\n"
    code += "print(*(main([*words, '--help']) for words in ([], ['report'], ['judge'])))\n"
    code += "print({'numpy', 'pandas', 'scipy'} & sys.modules.keys(), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stderr == "set()\n"


def test_help_is_for_both_commands_and_the_whole(run):
    for arguments in ((), ("report",), ("check",)):
        done = run(*arguments, "--help")
        assert (done.status, done.err) == (0, "")
        assert "calib report predictions.parquet" in done.out or arguments == ("check",)
        assert "calib check predictions.parquet" in done.out or arguments == ("report",)


def test_the_version(run):
    assert run("--version").out == f"calib {calib.__version__}\n"


def commands(text: str) -> list[str]:
    """Command lines of a page or a help text."""
    joined = text.replace("\\\n", " ")
    return re.findall(
        r"^\s*(?:\$ )?calib ((?:report|check|judge|monitor|compare|export|verify) .*)$",
        joined,
        re.MULTILINE,
    )


@pytest.mark.parametrize(
    "source",
    common_first(
        [
            "report",
            "check",
            "judge",
            "monitor",
            "compare",
            "export",
            "verify",
            *(
                f"docs/{page}.md"
                for page in (
                    "index",
                    "gate",
                    "judge",
                    "monitoring",
                    "reports",
                )
            ),
        ],
        ["check", "docs/index.md"],
    ),
)
def test_the_examples_of_help_and_pages_run(source, run, folder, carried, tmp_path, monkeypatch):
    parquet = dict.fromkeys(
        ("predictions.parquet", "march.parquet", "april.parquet"), "scores.parquet"
    )
    for name in (*parquet, "cal.csv", "test.csv", "scores.csv"):
        file = (parquet | {"test.csv": "more.csv"}).get(name)
        kind = "percent.csv" if name == "scores.csv" else "scores.csv"
        (tmp_path / name).write_bytes((folder / (file or kind)).read_bytes())
    (tmp_path / "predictions").mkdir()
    (tmp_path / "predictions" / "1.parquet").write_bytes((folder / "scores.parquet").read_bytes())
    for name in ("march.json", "april.json"):
        (tmp_path / name).write_bytes(KEPT.read_bytes())
    for file in carried.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    judged, gold = judged_tables()
    judged.to_csv(tmp_path / "judged.csv", index=False)
    gold.to_csv(tmp_path / "gold.csv", index=False)
    answers = {"answers": {"spam": {"type": "noul", "noul": 0.2}}, "labels": {"spam": False}}
    (tmp_path / "answers.jsonl").write_text(json.dumps(answers))
    for name, day in (("day.parquet", "2026-03-01"), ("next.parquet", "2026-03-02")):
        rows = pd.read_csv(folder / "scores.csv")
        rows = rows.assign(predicted_at=day, region="north", known_at=day)
        rows.to_parquet(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALIB_HOME", str(tmp_path / "home"))
    # One method is enough, because the test is of the commands.
    monkeypatch.setattr("calib.cli.predictions.default_settings", one_method)
    is_page = source.endswith(".md")
    text = (ROOT / source).read_text() if is_page else run(source, "--help").out
    lines = commands(text)
    assert lines
    for line in lines:
        done = run(*shlex.split(line, comments=True))
        assert done.status in (0, 1), f"{line}: {done.err}"


def judged_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of several judges, with gold labels in a table of their own and in a column."""
    rng = np.random.default_rng(0)
    judged = pd.DataFrame({"id": np.arange(400), "judge_score": rng.random(400)})
    passed = np.where(rng.random(400) < judged["judge_score"], "pass", "fail")
    judged["rating"] = rng.integers(1, 6, 400)
    judged["small"], judged["large"] = rng.random((2, 400))
    judged["human"] = np.where(np.arange(400) < 80, passed, "")
    return judged, pd.DataFrame({"id": np.arange(80), "label": passed[:80]})


def one_method(predictions: calib.Predictions | calib.Aggregate) -> Settings:
    return replace(default_settings(predictions), methods=("platt",))


@pytest.fixture(scope="module")
def carried(folder, tmp_path_factory):
    """Keys, reports and counts that the examples of `verify` and `report` read."""
    made, key = tmp_path_factory.mktemp("carried"), Ed25519PrivateKey.generate()
    pem = made / "key.pem"
    pem.write_bytes(key.private_bytes(PEM, PKCS8, serialization.NoEncryption()))
    (made / "key.pub").write_bytes(key.public_key().public_bytes(PEM, SUBJECT))
    arguments = ("--outcome", "y", "--score", "p", "--methods", "platt", "--grade", "exact")
    given = ("report", folder / "scores.csv", *arguments, "--sign", pem, "-o", made / "report.json")
    assert main([str(each) for each in given]) == 0
    for file, name in (("scores.csv", "north"), ("more.csv", "south")):
        counted = calib.scan(folder / file, outcome="y", score="p")
        counted.save(made / f"{name}.parquet")
    given = ("export", folder / "scores.csv", *arguments[:4], "--method", "platt", "-o")
    for form in ("map.sql", "map.json"):
        assert main([*map(str, given), str(made / form)]) == 0
    return made


def test_a_pipeline_sees_the_status_of_the_process(folder):
    command = [sys.executable, "-m", "calib", "check", str(folder / "scores.csv")]
    done = subprocess.run(
        [*command, "--max-ks", "0.0001"], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("example:none",), "The example must be one of naive_bayes"),
        (("example:rounds", "--model-value", "x"), "--model-value must be one of round 1, "),
        (
            ("example:naive_bayes", "--score", "p"),
            "An example has its own columns: leave out --score.",
        ),
    ],
)
def test_an_example_that_is_not_there_or_asked_too_much_is_refused(run, options, sentence):
    done = run("check", *options, "--max-ks", "1")
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err


def test_tcsh_is_asked_for_its_line(run, monkeypatch):
    assert "_CALIB_COMPLETE=tcsh_complete" in run("--print-completion", "tcsh").out
    monkeypatch.setenv("_CALIB_COMPLETE", "tcsh_complete")
    for line, offered in (("calib che", ["check"]), ("calib monitor rem", ["remove"])):
        monkeypatch.setenv("COMMAND_LINE", line)
        assert run().out.split() == offered
    monkeypatch.setenv("COMMAND_LINE", "calib monitor ")
    assert {"add", "check", "list"} <= set(run().out.split())
