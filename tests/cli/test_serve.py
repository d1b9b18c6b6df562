"""The dashboard as a command, from a folder that is not the project's."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from benchmarks._person import Person
from calib.distribution import pip_install
from calib.loading.reading import budget
from calib.ui.session import serving
from calib.ui.session.state import session_of
from tests.rare import rare

ROOT = Path(__file__).parents[2]
# This configuration of another project is in the folder in which the command is called.
FOREIGN = '[server]\naddress = "0.0.0.0"\n[browser]\ngatherUsageStats = true\n[theme]\nfont = "x"\n'
# The program imports all that a server needs once, and forks for each pair of arguments and
# variables.
SHOW_OPTIONS = """
import json, os, sys
from streamlit import config
from streamlit.web.server.starlette import starlette_server
from calib.__main__ import main
from calib.ui.session import serving
names, *servers = json.loads(sys.argv[1])
starlette_server.UvicornRunner.run = lambda self: print(
    json.dumps({name: config.get_option(name) for name in names})
)
for arguments, variables in servers:
    child = os.fork()
    if not child:
        os.environ |= variables
        sys.argv[1:] = ["serve", *arguments]
        sys.exit(main())
    if status := os.waitpid(child, 0)[1]:
        sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text(FOREIGN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


@pytest.fixture
def served(nothing_served):
    """Data as `calib serve` holds them, for this test."""

    def hold(*sources, table=None, **arguments):
        serving.hold([str(source) for source in sources], table, arguments)
        return serving.of_server()

    return hold


def declared():
    values = {}
    for section, options in tomllib.loads((ROOT / ".streamlit/config.toml").read_text()).items():
        for name, value in options.items():
            inner = value if isinstance(value, dict) else {None: value}
            values |= {".".join(filter(None, (section, name, key))): v for key, v in inner.items()}
    return values


def options_of_servers(*servers):
    names = [*declared(), "server.port", "browser.serverAddress"]
    done = subprocess.run(
        [sys.executable, "-c", SHOW_OPTIONS, json.dumps([names, *servers])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@rare
def test_options_of_the_app_hold_in_any_folder_and_are_changed_by_line_and_environment(elsewhere):
    variables = {
        "STREAMLIT_SERVER_MAX_UPLOAD_SIZE": "7",
        "STREAMLIT_RUNNER_MAGIC_ENABLED": "true",
        "STREAMLIT_SERVER_PORT": "8612",
    }
    line = ["--port", "8613", "--address", "localhost"]
    plain, varied, both = options_of_servers(([], {}), ([], variables), (line, variables))
    more = {"server.port": 8501, "browser.serverAddress": "localhost"}
    assert plain == declared() | more
    assert plain["server.address"] == "localhost"
    assert plain["browser.gatherUsageStats"] is False
    changed = declared() | more | {"server.maxUploadSize": 7, "runner.magicEnabled": True}
    assert varied == changed | {"server.port": 8612}
    assert both == changed | {"server.port": 8613, "server.address": "localhost"}


@rare
def test_an_address_of_version_6_is_printed_in_brackets(elsewhere):
    ipv6, plain = options_of_servers((["--address", "::1"], {}), (["--address", "10.0.0.7"], {}))
    assert (ipv6["server.address"], ipv6["browser.serverAddress"]) == ("::1", "[::1]")
    assert ipv6["server.allowedHosts"] == ["localhost", "127.0.0.1", "::1"]
    assert plain["browser.serverAddress"] == "localhost"


def listening(port):
    """Local addresses of sockets that listen on a port, from /proc as hexadecimal digits."""
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            if state == "0A" and local.endswith(f":{port:04X}"):
                ports.add(local.rpartition(":")[0])
    return ports


def test_it_answers_on_this_machine_only_and_stops_quietly(elsewhere, folder):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "calib", "serve", folder / "scores.csv", "--port", str(port)]
    log = elsewhere / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        url = f"http://localhost:{port}"
        deadline = time.monotonic() + 60
        while url not in log.read_text():
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        # The address is printed when the socket is bound, just before the first answer.
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=60) as answer:
            assert answer.read() == b"ok"
        assert listening(port) <= {"0100007F", "00000000000000000000000001000000"}
        person = Person(url)  # The session of this person uses the engines.
        said = log.read_text()
        server.send_signal(signal.SIGINT)
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 130
        person.close()
    finally:
        server.kill()
    assert log.read_text().removeprefix(said).strip() in {"", "Stopping..."}


def test_a_named_file_opens_as_if_it_were_dropped(served, folder):
    upload = served(folder / "scores.csv", outcome="y", score="p")
    session = session_of({})
    assert session.upload is upload
    assert len(upload.predictions) == 600
    # Its own link opens it again, also for a colleague. Another link gets the data that it names.
    assert session_of(session.link()).upload is upload
    assert session_of(session.link() | {"data": "0" * 12}).waits
    # An example keeps its link beside them.
    session = session_of({"ex": "naive_bayes"})
    assert session.upload is None
    assert session.link()["ex"] == "naive_bayes"


def test_without_data_the_first_example_opens(served):
    assert served() is None
    assert session_of({}).upload is None


def test_test_rows_and_several_models(served, folder):
    tested = served(folder / "scores.csv", test=str(folder / "more.csv"))
    assert int(tested.predictions.test.sum()) == 400
    models = served(folder / "scores.csv", folder / "more.csv")
    assert list(models.models) == ["scores", "more"]


@pytest.mark.parametrize("kind", ["folder", "glob", "database"])
def test_a_folder_a_glob_and_a_table_are_read(kind, served, folder, tmp_path):
    rows = pd.read_csv(folder / "scores.csv")
    table = None
    if kind == "database":
        table = "scored"
        with duckdb.connect(str(tmp_path / "team.duckdb")) as database:
            database.execute("CREATE TABLE scored AS SELECT * FROM rows")
    else:
        rows[:300].to_parquet(tmp_path / "a.parquet")
        rows[300:].to_parquet(tmp_path / "b.parquet")
    source = {"folder": "", "glob": "*.parquet", "database": "team.duckdb"}[kind]
    predictions = served(tmp_path / source, table=table, outcome="y", score="p").predictions
    assert len(predictions) == 600
    assert sorted(predictions.scores) == sorted(rows["p"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("none.csv",), r"There is no readable file"),
        (("empty",), r"holds no Parquet and no CSV file"),
        (("team.duckdb", "--table", "x"), r"There is no file"),
    ],
)
def test_what_cannot_be_read_is_said_before_the_server_starts(
    arguments, sentence, run, tmp_path, served, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(serving, "serve", lambda *_: pytest.fail("The server was started."))
    (tmp_path / "empty").mkdir()
    done = run("serve", *arguments)
    assert (done.status, done.out) == (2, "")
    assert re.search(sentence, done.err), done.err


def test_the_library_alone_says_what_the_dashboard_needs(run, monkeypatch):
    monkeypatch.setattr("calib.cli.serve.find_spec", lambda _: None)
    done = run("serve")
    assert (done.status, done.out) == (2, "")
    assert pip_install("app") in done.err


def test_rows_that_do_not_fit_in_memory_are_counted(served, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("calib.scanning.sources.Budget", lambda: budget.Budget(cells=1000))
    pd.read_csv(folder / "scores.csv").to_parquet(tmp_path / "a.parquet")
    upload = served(tmp_path, outcome="y", score="p")
    assert upload.counted
    assert upload.predictions.n_rows == 600
    assert upload.source.table == "(all files)"


def test_the_command_alone_opens_the_dashboard(monkeypatch):
    from calib.cli import main
    from calib.ui.session import serving

    started = []
    monkeypatch.setattr(serving, "serve", lambda *arguments: started.append(arguments))
    assert main([]) == 0
    assert [(*arguments, bool(css)) for *arguments, css in started] == [(None, None, [], True)]
