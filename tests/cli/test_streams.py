"""Standard input, output and error that are closed, full or of another encoding."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from calib.cli import main
from tests.rare import rare

ROOT = Path(__file__).parents[2]
CHECK = ("check", "scores.csv", "--max-ks", "1")
NAMED = ("--outcome", "y", "--score", "p", "--methods", "platt")


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


@rare
@pytest.mark.parametrize("full", ["stdout", "stderr"])
def test_a_full_disk_behind_a_stream(full, folder):
    streams = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    with Path("/dev/full").open("wb") as device:
        done = subprocess.run(
            [sys.executable, "-m", "calib", *CHECK],
            cwd=folder,
            env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
            | {"PYTHONPATH": str(ROOT)},
            check=False,
            **(streams | {full: device}),
        )
    if full == "stderr":
        # The result of a check does not depend on whether its remarks can be printed.
        assert (done.returncode, done.stdout[:5]) == (0, b"pass:")
    else:
        last = b"calib: Standard output cannot be written: No space left on device."
        assert (done.returncode, done.stderr.splitlines()[-1]) == (2, last)


@pytest.mark.usefixtures("here")
def test_closed_streams(run, monkeypatch, tmp_path, texts):
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stdin", None)
        done = run("check", "-", "--max-ks", "1")
    assert done.status == 2
    texts.shown(done.err)
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stderr", None)
        assert run(*CHECK).out.startswith("pass: ")
        sys.stderr.close()
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stdout", None)
        assert run(*CHECK).err.startswith("outcome: y")
        sys.stdout.close()


@pytest.mark.usefixtures("here")
def test_a_path_that_the_encoding_lacks_is_printed(monkeypatch, tmp_path):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    path = tmp_path / "é.md"
    assert main(["report", "scores.csv", *NAMED, "-o", str(path)]) == 0
    assert path.is_file()
    assert written.getvalue().endswith(b"\\xe9.md\n")


@pytest.mark.parametrize("file", ["none.json", "none.sql", "none.onnx"])
def test_what_is_read_is_not_said_to_be_written(file, run):
    done = run("verify", file)
    assert (done.status, done.err) == (
        2,
        f"calib: {file} cannot be read: No such file or directory.\n",
    )


@pytest.mark.usefixtures("here")
def test_an_error_of_writing_names_the_file(run):
    done = run(*CHECK, "--junit", "/dev/full")
    last = "calib: /dev/full cannot be written: No space left on device."
    assert (done.status, done.err.splitlines()[-1]) == (2, last)


OTHERS = {
    "a.json": '{"a": 1}',
    "b.json": "{",
    "c.json": "[]",
    "d.sql": "SELECT 1",
    "e.py": "print(1)",
    "f.csv": "y,p\n",
}


@pytest.mark.parametrize("file", OTHERS)
def test_a_file_of_another_kind_has_status_2(file, run, tmp_path):
    (tmp_path / file).write_text(OTHERS[file])
    done = run("verify", tmp_path / file)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("calib: ")


@pytest.mark.parametrize("option", ["--min-p", "--max-ks", "--max-ece"])
def test_a_limit_that_nothing_can_exceed_is_refused(option, run):
    for value in ("1.01", "2", "-0.1", "nan", "inf"):
        done = run("check", "none.csv", option, value)
        assert done.status == 2
        assert f"{value}" in done.err


@pytest.mark.parametrize("port", ["-1", "65536", "99999", "x", "8.5"])
def test_a_port_that_does_not_exist_is_refused(port, run):
    done = run("serve", "--port", port)
    assert done.status == 2
    assert f"{port}" in done.err


def test_an_address_of_another_machine_is_refused_in_words(run, monkeypatch, texts):
    def serve(*_: object) -> None:
        raise OSError(99, "Cannot assign requested address")

    monkeypatch.setattr("calib.ui.session.serving.serve", serve)
    done = run("serve", "--address", "192.0.2.1", "--port", "8600")
    assert done.status == 2
    texts.shown(done.err)
