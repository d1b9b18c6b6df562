"""``calib monitor``: what each act prints and keeps, and the message to a webhook."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import create_engine, text

from calib.features.monitor.acts import post, webhook
from calib.store import Store, StoreError

FIRST = ("--outcome", "y", "--score", "p", "--time", "predicted_at", "--horizon", "30d")
TODAY = ("--today", "2026-06-01")


def frame(first: str, n_days: int, shift: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """200 rows a day whose true log-odds differ from those of the score by a shift."""
    rng = np.random.default_rng(seed)
    n = 200 * n_days
    p = rng.beta(1, 3, n).round(4)
    odds = p / (1.0 - p) * np.exp(shift)
    made = {"y": (rng.random(n) < odds / (1.0 + odds)).astype(int), "p": p}
    day = np.datetime64(first) + np.arange(n) // 200
    return pd.DataFrame(made | {"predicted_at": day, "region": rng.choice(["north", "south"], n)})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CALIB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CALIB_DATABASE_URL", raising=False)
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    for name, made in (
        ("calm.csv", frame("2026-01-01", 60)),
        ("shifted.csv", frame("2026-03-02", 30, 0.8, seed=1)),
        ("mended.csv", frame("2026-04-01", 30, seed=2)),
    ):
        made.to_csv(tmp_path / name, index=False)
    return tmp_path


@pytest.fixture
def churn(run, home):
    assert run("monitor", "add", "--name", "churn", home / "calm.csv", *FIRST).status == 0
    return home


def opened() -> object:
    with Store.from_environment() as store:
        return store.monitors.open("churn")


def test_a_monitor_is_made_with_its_first_file(run, home, texts):
    done = run("monitor", "add", "--name", "churn", home / "calm.csv", *FIRST, "--slice", "region")
    positive = int(pd.read_csv(home / "calm.csv")["y"].sum())
    days = "2026-01-01 to 2026-03-01"
    assert done.out == f"churn: added 12,000 rows of {days} ({positive:,} positive)\n"
    texts(done.err)
    monitor = opened()
    assert monitor.counts.names == ("", "region=north", "region=south")
    assert (monitor.horizon, monitor.entries[0].person) == (30, "the operator (ada)")


def test_later_files_need_only_the_name(run, churn):
    assert run("monitor", "add", "--name", "churn", churn / "shifted.csv").err == ""
    again = run("monitor", "add", "--name", "churn", churn / "shifted.csv")
    today = datetime.now(UTC).date()
    expected = f"churn: these rows were added {today} already, nothing was changed\n"
    assert (again.status, again.out) == (0, expected)
    assert opened().counts.n_rows == 18_000


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--horizon", "7"), "has a horizon of 30 days, got 7. Another horizon needs another"),
        (("--score", "y"), "Outcome and score are the same column"),
        (("--slice", "region"), "has nothing as its slices"),
        (("--horizon", "month"), "must be a whole number of days, 0 to 3650, such as 30d"),
        (("--time", "when"), "The time column `when` is not in the table"),
    ],
)
def test_another_reading_is_refused(run, churn, options, sentence):
    done = run("monitor", "add", "--name", "churn", churn / "shifted.csv", *options)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert len(opened().entries) == 1


def test_a_new_monitor_needs_a_horizon_and_columns(run, home, texts):
    done = run("monitor", "add", "--name", "churn", home / "calm.csv", *FIRST[:6])
    assert done.status == 2
    texts.shown(done.err)
    done = run("monitor", "add", "--name", "churn", home / "calm.csv", *FIRST[2:])
    texts.shown(done.err)
    assert run("monitor", "list").out == ""


def test_a_file_with_every_row_twice_is_named(run, churn):
    twice = pd.concat([frame("2026-03-02", 10)] * 2)
    twice.to_csv(churn / "twice.csv", index=False)
    done = run("monitor", "add", "--name", "churn", churn / "twice.csv")
    assert done.status == 0
    assert done.err.count("Nearly all rows occur twice on their day") == 1


def test_a_correction_counts_instead_of_earlier_rows(run, churn, texts):
    half = frame("2026-01-01", 1)[:100]
    half.to_csv(churn / "half.csv", index=False)
    more = run("monitor", "add", "--name", "churn", churn / "half.csv")
    texts(more.err)
    assert opened().counts.n_rows == 12_100
    done = run("monitor", "add", "--name", "churn", churn / "half.csv", "--correct")
    assert (done.err, done.out[:26]) == ("", "churn: corrected 100 rows ")
    assert opened().counts.n_rows == 12_000 - 200 + 100


def test_missing_and_late_outcomes_are_named(run, home, texts):
    rows = frame("2026-01-01", 10).astype({"y": "Int8"})
    rows["known_at"] = rows["predicted_at"] + np.timedelta64(3, "D")
    rows.loc[:99, "y"] = pd.NA
    rows.loc[100:199, "known_at"] += pd.Timedelta(days=60)
    rows.to_parquet(home / "rows.parquet")
    arguments = ("--name", "churn", home / "rows.parquet", *FIRST, "--arrived", "known_at")
    done = run("monitor", "add", *arguments)
    texts.shown(done.out)
    assert "No column says" not in done.err
    checked = run("monitor", "check", "--name", "churn", *TODAY)
    texts.shown(checked.err)


def test_rows_that_are_younger_than_the_horizon_are_named(run, home, texts):
    today = datetime.now(UTC).date()
    frame(str(today), 1).assign(y="").to_csv(home / "young.csv", index=False)
    labels = ("--positive", "1", "--negative", "0")
    done = run("monitor", "add", "--name", "churn", home / "young.csv", *FIRST, *labels)
    texts.shown(done.err)
    frame("2190-01-01", 1).to_csv(home / "later.csv", index=False)
    done = run("monitor", "add", "--name", "churn", home / "later.csv")
    assert done.status == 2
    texts(done.err)


def test_days_that_were_added_too_early_are_named(run, churn):
    rows = frame("2026-05-01", 2).astype({"y": "Int8"})
    rows.loc[::3, "y"] = pd.NA
    rows.to_csv(churn / "early.csv", index=False)
    run("monitor", "add", "--name", "churn", churn / "early.csv")
    engine = create_engine(f"sqlite:///{churn / 'home' / 'reports.db'}")
    with engine.begin() as connection:
        line = "UPDATE calib_monitor_entries SET added = '2026-05-20T00:00:00.000000+00:00'"
        connection.execute(text(f"{line} WHERE number = 2"))
    engine.dispose()
    sentence = (
        "note: 2 days, first 2026-05-01, had open outcomes when they were added, and are not "
        "tested. Add all their rows again with --correct.\n"
    )
    check = ("monitor", "check", "--name", "churn", "--today", "2026-07-01")
    assert sentence in run(*check).err
    run("monitor", "add", "--name", "churn", churn / "early.csv", "--correct")
    assert sentence not in run(*check).err


def test_counts_of_a_scan_are_added(run, home, texts):
    columns = ("--outcome", "y", "--score", "p", "--time", "predicted_at")
    assert run("scan", home / "calm.csv", *columns, "-o", home / "cells.parquet").status == 0
    arguments = ("--name", "churn", home / "cells.parquet")
    assert run("monitor", "add", *arguments, "--horizon", "30").status == 0
    counted = opened().counts.frame()
    run("monitor", "add", "--name", "rows", home / "calm.csv", *FIRST)
    with Store.from_environment() as store:
        expected = store.monitors.open("rows").counts.frame()
    pd.testing.assert_frame_equal(counted, expected)
    assert run("monitor", "add", "--name", "churn", home / "shifted.csv").status == 0
    texts.shown(run("monitor", "add", *arguments).out)


def test_clusters_that_are_named_are_refused(run, home, texts):
    done = run("monitor", "add", "--name", "churn", home / "calm.csv", *FIRST, "--group", "region")
    assert (done.status, done.out) == (2, "")
    texts.shown(done.err)


def test_a_check_prints_one_sentence(run, churn, texts):
    done = run("monitor", "check", "--name", "churn", *TODAY)
    assert (done.status, done.err) == (0, "")
    texts(done.out)
    early = run("monitor", "check", "--name", "churn", "--today", "2026-01-15")
    assert early.status == 0
    texts.shown(early.out)
    run("monitor", "add", "--name", "churn", churn / "shifted.csv")
    failed = run("monitor", "check", "--name", "churn", *TODAY)
    assert failed.status == 1
    texts.shown(failed.out)
    assert failed.out.count("\n") == 1
    assert failed.err == "advice: recalibrate\n"


def test_a_check_writes_json_and_junit(run, churn, texts):
    run("monitor", "add", "--name", "churn", churn / "shifted.csv")
    place = churn / "monitor.xml"
    done = run("monitor", "check", "--name", "churn", *TODAY, "--json", "--junit", place)
    made = json.loads(done.out)
    assert (done.status, made["monitor"], made["state"]) == (1, "churn", "alarm")
    assert (made["since"], made["today"], made["advice"]) == (
        *("2026-03-02", "2026-06-01", "recalibrate"),
    )
    assert made["n_rows"] == 18_000
    assert (made["anew"], made["anew_by"], made["ever_wrong"]) == (None, "", True)
    assert "2026-03-02" <= made["faster_reached"] <= "2026-03-05"
    suite = ElementTree.parse(place).getroot()
    assert (suite.get("name"), suite.get("failures")) == ("calib monitor check", "1")
    (failure,) = suite.iter("failure")
    assert failure.text == made["sentence"]
    # The result of an earlier run must not stay.
    assert run("monitor", "check", "--name", "other", "--junit", place).status == 2
    suite = ElementTree.parse(place).getroot()
    (problem,) = suite.iter("error")
    assert suite.get("name") == "calib monitor check"
    texts.shown(problem.text)


def test_a_new_calibrator_starts_anew(run, churn, texts):
    run("monitor", "add", "--name", "churn", churn / "shifted.csv")
    run("monitor", "add", "--name", "churn", churn / "mended.csv")
    done = run("monitor", "reset", "--name", "churn", "--from", "2026-04-01", "--by", "Bo")
    texts(done.out)
    checked = run("monitor", "check", "--name", "churn", *TODAY)
    assert checked.status == 0
    texts.shown(checked.out)
    assert (opened().entries[-1].kind, opened().entries[-1].person) == ("calibrator", "Bo")
    later = run("monitor", "reset", "--name", "churn", "--from", "2999-01-01")
    assert later.status == 2
    texts(later.err)
    assert opened().new_calibrators == (date(2026, 4, 1),)
    wrong = run("monitor", "reset", "--name", "churn", "--from", "april")
    assert wrong.status == 2
    texts.shown(wrong.err)


def test_list_and_show_and_remove(run, churn, texts):
    assert run("monitor", "add", "--name", "a\tb\x1b", churn / "calm.csv", *FIRST).status == 0
    run("monitor", "reset", "--name", "churn", "--from", "2026-04-01")
    positive = int(pd.read_csv(churn / "calm.csv")["y"].sum())
    summary = (
        f"12,000 rows of 2026-01-01 to 2026-03-01, {positive:,} positive, 0.0% without an "
        "outcome, 0.0% late, 0 slices, horizon 30 days"
    )
    assert run("monitor", "list").out == f"a b \t{summary}\nchurn\t{summary}\n"
    first, columns, *entries = run("monitor", "show", "--name", "churn").out.splitlines()
    assert first == f"churn: {summary}"
    assert columns == (
        "columns: outcome `y`, score `p`, time `predicted_at`, positive `1` and negative `0`"
    )
    cells = [line.split("\t") for line in entries]
    assert [cell[:1] + cell[2:3] + cell[4:] for cell in cells] == [
        ["1", "rows", "the operator (ada)", "calm"],
        ["2", "calibrator", "the operator (ada)", ""],
    ]
    assert cells[1][3] == "2026-04-01"
    assert run("monitor", "remove", "--name", "churn").out == "churn removed\n"
    gone = run("monitor", "show", "--name", "churn")
    assert gone.status == 2
    texts.shown(gone.err)
    run("monitor", "remove", "--name", "a\tb\x1b")
    empty = run("monitor", "list")
    assert (empty.status, empty.out) == (0, "")
    texts(empty.err)


@pytest.mark.parametrize("end", ["cut", "swapped", "text", "empty"])
def test_a_damaged_file_adds_nothing(run, churn, end):
    place = churn / "damaged.parquet"
    frame("2026-04-01", 5).to_parquet(place)
    content = place.read_bytes()
    damaged = {
        "cut": content[: len(content) // 2],
        "swapped": content[: len(content) // 3] + bytes(99) + content[len(content) // 3 + 99 :],
        "text": b"\x00\xff\x1b[31m" * 99,
        "empty": b"",
    }
    place.write_bytes(damaged[end])
    done = run("monitor", "add", "--name", "churn", place)
    assert (done.status, done.out, len(opened().entries)) == (2, "", 1)
    assert done.err.startswith("calib: ")


def test_hostile_names_do_not_steer_the_terminal(run, home):
    rows = frame("2026-01-01", 40, 0.8)
    hostile = "<b>\x1b[31m\u202e`|\n"
    rows = rows.rename(columns={"p": "p\x1b[2J", "region": "=cmd()\x07"})
    rows["=cmd()\x07"] = hostile
    place = home / "a\x1b[31m.parquet"
    rows.to_parquet(place)
    columns = ("--outcome", "y", "--score", "p\x1b[2J", "--time", "predicted_at")
    more = ("--horizon", "30", "--slice", "=cmd()\x07", "--by", hostile)
    outputs = [run("monitor", "add", "--name", hostile, place, *columns, *more)]
    assert outputs[0].status == 0
    for act in (("show",), ("check", *TODAY), ("check", *TODAY, "--json"), ("remove",)):
        outputs.append(run("monitor", act[0], "--name", hostile, *act[1:]))
        assert outputs[-1].status in (0, 1)
    outputs.append(run("monitor", "check", "--name", hostile))
    assert outputs[-1].status == 2
    for done in outputs:
        plain = done.out + done.err
        assert all(letter.isprintable() or letter in "\n\t" for letter in plain), plain


def test_a_damaged_monitor_does_not_hide_the_others(run, churn, texts):
    run("monitor", "add", "--name", "other", churn / "calm.csv", *FIRST)
    engine = create_engine(f"sqlite:///{churn / 'home' / 'reports.db'}")
    with engine.begin() as connection:
        line = "UPDATE calib_monitor_days SET content = x'00' WHERE monitor = 'churn'"
        connection.execute(text(line))
    engine.dispose()
    first, second = run("monitor", "list").out.splitlines()
    texts.shown(first)
    assert second.startswith("other\t12,000 rows")
    done = run("monitor", "check", "--name", "churn")
    assert (done.status, "is damaged" in done.err or "are damaged" in done.err) == (2, True)


class Receiver(BaseHTTPRequestHandler):
    """A webhook that keeps what is posted, and answers as its server says."""

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, json.loads(content)))
        status, location = self.server.answer
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiving(status: int = 200, location: str = "") -> Iterator[tuple[str, list]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.posts, server.answer = [], (status, location)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook", server.posts
        server.shutdown()


def checked(run, url: str, today: str = "2026-06-01"):
    return run("monitor", "check", "--name", "churn", "--webhook", url, "--today", today)


def test_an_alarm_is_posted_once_when_it_opens_and_when_it_closes(run, churn, monkeypatch, texts):
    # A proxy is another computer.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    with receiving() as (url, posts):
        assert checked(run, url).status == 0
        assert posts == []
        run("monitor", "add", "--name", "churn", churn / "shifted.csv")
        for _ in range(2):
            done = checked(run, url)
            assert (done.status, done.err) == (1, "advice: recalibrate\n")
        ((path, made),) = posts
        assert (path, made["alert"], made["state"]) == ("/hook", "opened", "alarm")
        assert made["text"] == f"`churn`: {made['sentence']}"
        assert done.out == f"fail: {made['sentence']} (churn)\n"
        run("monitor", "reset", "--name", "churn", "--from", "2026-04-01")
        for _ in range(2):
            assert checked(run, url).status == 0
        assert [made["alert"] for _, made in posts] == ["opened", "closed"]
        texts.shown(posts[1][1]["text"])


def test_rows_that_move_the_day_of_an_alarm_are_no_other_alarm(run, churn):
    run("monitor", "add", "--name", "churn", churn / "shifted.csv")
    with receiving() as (url, posts):
        assert checked(run, url).status == 1
        day = json.loads(run("monitor", "check", "--name", "churn", *TODAY, "--json").out)["raised"]
        calm = pd.concat([frame("2026-03-02", 3, -0.8, seed=s) for s in (7, 8)])
        calm.to_csv(churn / "more.csv", index=False)
        run("monitor", "add", "--name", "churn", churn / "more.csv")
        moved = json.loads(run("monitor", "check", "--name", "churn", *TODAY, "--json").out)[
            "raised"
        ]
        assert moved != day
        assert checked(run, url).status == 1
        assert [made["alert"] for _, made in posts] == ["opened"]


def test_an_alarm_that_a_correction_withdraws_is_closed_and_may_open_again(run, churn, texts):
    run("monitor", "add", "--name", "churn", churn / "shifted.csv")
    with receiving() as (url, posts):
        checked(run, url)
        frame("2026-03-02", 30, seed=1).to_csv(churn / "right.csv", index=False)
        run("monitor", "add", "--name", "churn", churn / "right.csv", "--correct")
        assert checked(run, url).status == 0
        texts.shown(posts[-1][1]["text"])
        run("monitor", "add", "--name", "churn", churn / "shifted.csv", "--correct")
        assert checked(run, url).status == 1
        assert [made["alert"] for _, made in posts] == ["opened", "closed", "opened"]


@pytest.mark.parametrize(
    ("status", "location", "sentence"),
    [
        (500, "", "answered 500."),
        (302, "/other", "answered 302, and redirects are not followed."),
        (307, "http://169.254.169.254/", "answered 307, and redirects are not followed."),
    ],
)
def test_a_post_that_fails_is_said_and_tried_again(run, churn, status, location, sentence):
    run("monitor", "add", "--name", "churn", churn / "shifted.csv")
    with receiving(status, location) as (url, posts):
        for number in (1, 2):
            done = checked(run, url)
            assert done.status == 1
            assert str(sentence) in done.err
            assert [path for path, _ in posts] == ["/hook"] * number


def test_checks_at_once_post_once(run, churn, monkeypatch):
    """While the first check waits for its webhook, two others begin and end."""
    run("monitor", "add", "--name", "churn", churn / "shifted.csv")
    posts, others = [], []

    def slow(*given: object) -> str:
        posts.append(given)
        if len(posts) == 1:
            others.extend(checked(run, "https://example.com") for _ in range(2))
        return ""

    monkeypatch.setattr("calib.features.monitor.acts.post", slow)
    checked(run, "https://example.com")
    assert len(posts) == 1
    assert [done.status for done in others] == [1, 1]
    assert all(
        done.err.endswith("Another check posts this alarm to the webhook.\n") for done in others
    )
    assert checked(run, "https://example.com").err == "advice: recalibrate\n"
    assert [entry.kind for entry in opened().entries].count("alert") == len(posts) == 1


def test_an_alarm_is_posted_although_the_database_cannot_be_written(run, churn, monkeypatch, texts):
    run("monitor", "add", "--name", "churn", churn / "shifted.csv")

    def refuse(*_: object, **__: object) -> bool:
        raise StoreError("The database is full.")

    monkeypatch.setattr("calib.store.monitors.Monitors.claim_alert", refuse)
    with receiving() as (url, posts):
        done = checked(run, url)
    assert (done.status, len(posts)) == (1, 1)
    texts.shown(done.err)


MENTIONS = (
    *("<!channel>", "<@U123>", "<https://evil.example|click>", "[x](https://evil.example)"),
    *("@all", "@here", "@everyone", "a` <!channel> `b", "<!here>&amp;", "**x** ~y~\n@all"),
)


def test_names_do_not_call_people_or_make_links_in_a_chat(run, home):
    """Slices and a monitor whose names are commands of chat programs."""
    for number, name in enumerate(MENTIONS):
        rows = frame("2026-01-01", 5, 1.5).assign(region=name)
        rows.to_parquet(home / "rows.parquet")
        monitor = f"{name.replace(chr(10), ' ')} {number}"
        added = ("--name", monitor, home / "rows.parquet", *FIRST, "--slice", "region")
        assert run("monitor", "add", *added).status == 0
        with receiving() as (url, posts):
            check = ("--name", monitor, "--webhook", url, "--today", "2026-06-01")
            assert run("monitor", "check", *check).status == 1
        ((_, made),) = posts
        assert made["monitor"] == monitor
        text = made["text"]
        assert not re.search(r"[<>]|@\w|\]\(|&(?!amp;|lt;|gt;)|://", text), text
        # A name stands in code, which its own characters do not end.
        assert text.count("`") == 4, text
        assert "miscalibrated, first `region=" in text
        assert made["wrong_slices"] == [f"region={name}"]


@pytest.mark.parametrize("place", ["environment", "file", "option before both"])
def test_the_address_is_no_argument_of_the_process(run, churn, monkeypatch, place):
    run("monitor", "add", "--name", "churn", churn / "shifted.csv")
    check = ["monitor", "check", "--name", "churn", *TODAY]
    with receiving() as (url, posts):
        elsewhere = "https://127.0.0.1:9/secret"
        monkeypatch.setenv("CALIB_WEBHOOK", url if place == "environment" else elsewhere)
        (churn / "address").write_text(f"{url}\n")
        if place == "file":
            check += ["--webhook-file", churn / "address"]
        elif place == "option before both":
            check += ["--webhook", url]
        assert run(*check).status == 1
    assert len(posts) == 1


def test_an_address_in_the_environment_or_a_file_is_checked(run, churn, monkeypatch, texts):
    check = ("monitor", "check", "--name", "churn", *TODAY)
    (churn / "address").write_text("http://example.com/secret")
    for option, place in (
        ((), "CALIB_WEBHOOK"),
        (("--webhook-file", churn / "address"), "address"),
    ):
        monkeypatch.setenv("CALIB_WEBHOOK", "http://example.com/secret")
        done = run(*check, *option)
        assert (done.status, done.out) == (2, "")
        assert str(place) in done.err
        assert "secret" not in done.err
    done = run(*check, "--webhook-file", churn / "none")
    assert done.status == 2
    texts.shown(done.err)
    monkeypatch.setenv("CALIB_WEBHOOK", " ")
    assert run(*check).status == 0


def test_nobody_listening_does_not_change_the_status(run, churn, texts):
    run("monitor", "add", "--name", "churn", churn / "shifted.csv")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    done = checked(run, f"http://127.0.0.1:{port}/")
    assert done.status == 1
    texts.shown(done.err)


def test_a_slow_server_is_left_after_some_time(texts):
    """One accepts and stays silent; the other sends one byte after the other."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        started = time.monotonic()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        texts(post(url, {}, 0.3))

        silent, _ = server.accept()

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                for letter in b"HTTP/1.1 200 OK":
                    time.sleep(0.05)
                    connection.sendall(bytes([letter]))

        thread = threading.Thread(target=drip)
        thread.start()
        texts(post(url, {}, 0.3))
        silent.close()
        thread.join()
        assert time.monotonic() - started < 5.0


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "HTTPS://example.com:8443/hooks/x?y=%20#z",
        "https://[2001:db8::1]/",
        "http://localhost:8000",
        "http://127.0.0.1/hook",
        "http://[::1]:65535/",
    ],
)
def test_https_and_this_computer_are_addresses(url):
    assert webhook(url) == url


OTHER_ADDRESSES = [
    "http://example.com/",
    "http://10.0.0.1/",
    "http://localhost.example.com/",
    "http://localhost@example.com/",
    "http://example.com\\@localhost/",
    "https://user:secret@example.com/",
    "http://127.0.0.1.example.com/",
    "http://[::1]x/",
    "http://[::2]/",
    "https://",
    "https://[::1]x/",
    "https://exa mple.com",
    "https://example.com/\n",
    "https://example.com:99999/",
    f"https://example.com:{'1' * 5000}/",
    "file:///etc/passwd",
    "ftp://localhost/",
    "example.com",
    "https://[:::::]",
    "https://[1.2.3.4]/",
    "https://a..example.com/",
    "",
]


@pytest.mark.usefixtures("churn")
def test_other_addresses_are_refused(run, texts):
    for url in OTHER_ADDRESSES:
        done = checked(run, url)
        assert (done.status, done.out) == (2, ""), url
        texts.shown(done.err, "each case")
        # An address often is a secret.
        assert "example" not in done.err.splitlines()[-1]
