import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from calib.store import Store, StoreError, entries, tables
from calib.store.engine import checked_url

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "'; DROP TABLE calib_reports; --",
    '"quoted" and \\back\\slashed',
    "100%_of_it",
    "line\none\ttab \x1b[31m \x00 nul",
    "Straße ﬁne İstanbul 😀",
    "{id} %(id)s %s :id ?",
    "x" * 100_000,
)


def test_an_opened_report_is_the_one_that_was_saved(store, report):
    assert store.open(store.save(report)).json() == report.json()


def test_ids_are_long_fit_for_an_address_and_never_the_same(store, report):
    ids = {store.save(report) for _ in range(5)}
    assert len(ids) == 5
    # An id has 128 random bits, which are 16 bytes in base64.
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", report_id) for report_id in ids)


def test_no_id_can_be_taken_for_an_option(store, report, monkeypatch):
    drawn = iter(["-64WO4eXHQUX7UlH8MYqNg", "-64WO4eXHQUX7UlH8MYqNh", "64WO4eXHQUX7UlH8MYqNgA"])
    monkeypatch.setattr("secrets.token_urlsafe", lambda _: next(drawn))
    assert store.save(report) == "64WO4eXHQUX7UlH8MYqNgA"


def test_an_entry_says_what_the_report_says(store, report):
    before = datetime.now(UTC)
    report_id = store.save(replace(report, note="For the board"), tags=["q1", " credit  risk "])
    (entry,) = store.list()
    assert entry == store.entry(report_id)
    assert (entry.title, entry.author, entry.note) == ("March", "Ada", "For the board")
    assert (entry.data_name, entry.tags) == ("scores.csv", ("credit risk", "q1"))
    assert entry.fingerprint == report.analysis.data.fingerprint
    assert (entry.verdict, entry.sentence) == (
        report.analysis.verdict.kind,
        report.analysis.verdict.sentence,
    )
    assert entry.created == datetime(2026, 3, 1, 9, 5, tzinfo=UTC)
    assert before <= entry.saved <= datetime.now(UTC)


def test_a_report_without_a_title_is_listed_by_its_heading(store, report, texts):
    store.save(replace(report, title=""))
    texts(store.list()[0].title)


def test_newest_first_in_pages(store, report):
    saved = [store.save(report) for _ in range(7)]
    pages = [store.list(limit=3, offset=offset) for offset in (0, 3, 6, 9)]
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert [entry.id for page in pages for entry in page] == saved[::-1]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("", "abc"),
        ("churn", "a"),
        ("CHURN", "a"),
        ("churn scores", "a"),
        ("churn credit", ""),
        ("scores.csv", "abc"),
        ("grace", "b"),
        ("strasse", "b"),
        ("q3", "c"),
        ("50%", "c"),
        ("%", "c"),
        ("_", "b"),
        ("a_b", "b"),
        ("'", "c"),
        ('"', "c"),
        ("o'hara", "c"),
        ("\\", "a"),
        ("/", "b"),
        ("\0", "abc"),
        ("\ud800", ""),
        ("%" * 5000, ""),
        ("'; DROP TABLE calib_reports; --", ""),
    ],
)
def test_search_takes_every_character_as_it_is(store, report, search, found):
    for title, author, note, tags in (
        ("a Churn", "Ada", "C:\\data", ["q1"]),
        ("b credit", "Grace", "Straße 1/2, a_b", ["q2"]),
        ("c credit", "Tim O'Hara", 'up by 50%, "really"', ["Q3"]),
    ):
        store.save(replace(report, title=title, author=author, note=note), tags=tags)
    assert "".join(sorted(entry.title[0] for entry in store.list(search))) == found
    assert store.count(search) == len(found)


def test_filters_are_exact_and_add_up(store, report):
    store.save(report, tags=["credit", "2026"])
    store.save(replace(report, author="Grace"), tags=["credit"])
    store.save(report)
    kind = report.analysis.verdict.kind
    assert store.tags() == ("2026", "credit")
    assert store.authors() == ("Ada", "Grace")
    assert store.verdicts() == (kind,)
    assert store.count() == 3
    assert store.count(tag="credit") == 2
    assert store.count(tag="Credit") == store.count(tag="cred") == store.count(tag="%") == 0
    assert store.count(tag="credit", author="Ada") == 1
    assert store.count(verdict=kind) == 3
    assert store.count(verdict="magic") == 0
    assert len(store.list("march", tag="credit", author="Grace", verdict=kind)) == 1


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_kept_and_found_as_text(store, report, hostile):
    given = replace(report, title=hostile, author=hostile, note=hostile)
    report_id = store.save(given, tags=[hostile[:40]])
    assert store.open(report_id).json() == given.json()
    entry = store.entry(report_id)
    # PostgreSQL cannot store the character NUL.
    shown = hostile.replace("\0", "")
    assert (entry.title, entry.author, entry.note) == (shown, shown, shown)
    assert store.list(hostile[:900]) == store.list(author=hostile) == (entry,)
    assert store.list(tag=entry.tags[0]) == (entry,)
    store.delete(report_id, by=hostile)
    assert store.deletions()[0].title == shown


def test_tags_have_bounds(store, report, texts):
    with texts.raises(StoreError):
        store.save(report, tags=["x" * 61])
    with texts.raises(StoreError):
        store.save(report, tags=map(str, range(21)))
    assert store.list() == ()


def test_a_deleted_report_is_gone_and_the_log_says_who_did_it(store, report, texts):
    kept, gone = store.save(report, tags=["q1"]), store.save(report, tags=["q2"])
    before = datetime.now(UTC)
    store.delete(gone, by=" Grace  Hopper ")
    assert [entry.id for entry in store.list()] == [kept]
    assert store.tags() == ("q1",)
    (line,) = store.deletions()
    assert (line.report_id, line.title, line.deleted_by) == (gone, "March", "Grace Hopper")
    assert before <= line.deleted <= datetime.now(UTC)
    for ask in (store.open, store.entry, lambda i: store.delete(i, by="Ada")):
        with texts.raises(StoreError):
            ask(gone)
    assert len(store.deletions()) == 1


def test_a_deletion_needs_a_name(store, report, texts):
    report_id = store.save(report)
    with texts.raises(StoreError):
        store.delete(report_id, by=" ")
    assert store.open(report_id).title == "March"


@pytest.mark.parametrize(
    "report_id",
    ["", "abc", "%", "' OR 1=1", "x\0", "\ud800", "z" * 10**6],
    ids=["empty", "short", "percent", "quote", "nul", "surrogate", "long"],
)
def test_an_unknown_id_gets_a_sentence(store, report, report_id, texts):
    store.save(report)
    for ask in (store.open, store.entry, lambda i: store.delete(i, by="Ada")):
        with texts.raises(StoreError) as caught:
            ask(report_id)
        assert len(str(caught.value)) < 400
    assert store.count() == 1


def test_a_saved_report_cannot_be_changed_even_by_hand(store, report, url, texts):
    report_id = store.save(report)
    engine = create_engine(checked_url(url))
    try:
        with texts.raises(DBAPIError), engine.begin() as by:
            by.execute(text("UPDATE calib_reports SET title = 'other'"))
    finally:
        engine.dispose()
    assert store.entry(report_id).title == "March"


def test_two_stores_on_one_database_show_the_same_reports(store, report, url):
    with Store(url) as other:
        report_id = store.save(report, tags=["q1"])
        assert other.open(report_id).json() == report.json()
        assert other.list() == store.list()
        other.delete(report_id, by="Ada")
        assert store.list() == ()
        assert store.deletions() == other.deletions()


def test_a_deleted_report_rests_and_can_be_restored(store, report, texts):
    saved = store.save(report, tags=["q1"], owner="ada@example.org")
    store.delete(saved, by="ada@example.org")
    assert store.list() == store.tags() == store.authors() == ()
    assert store.count() == 0
    (line,) = store.resting()
    assert (line.report_id, line.title, line.deleted_by) == (saved, "March", "ada@example.org")
    with texts.raises(StoreError, "each case"):
        store.open(saved)
    with pytest.raises(StoreError, match="was deleted"):
        store.delete(saved, by="Bob")
    store.restore(saved, by="Grace")
    assert store.open(saved).json() == report.json()
    assert (store.entry(saved).owner, store.entry(saved).tags) == ("ada@example.org", ("q1",))
    assert store.resting() == store.deletions() == ()
    assert [(change.change, change.person) for change in store.changes()] == [
        ("restored", "Grace"),
        ("deleted", "ada@example.org"),
        ("saved", "ada@example.org"),
    ]
    with texts.raises(StoreError, "each case, 2"):
        store.restore("nothing", by="Grace")
    with texts.raises(StoreError, "each case, 3"):
        store.restore(saved, by="Grace")


def test_what_rested_long_enough_is_removed(url, report):
    with Store(url, rest=timedelta(0)) as store:
        gone, kept = store.save(report, tags=["a"], owner="ada"), store.save(report)
        store.delete(gone, by="Ada")
        store.save(report)
        with pytest.raises(StoreError, match="was deleted"):
            store.restore(gone, by="Ada")
        assert store.resting() == ()
        assert store.deletions()[0].report_id == gone
        assert store.open(kept).title == "March"


def test_a_clock_that_is_ahead_once_removes_nothing(store, report, monkeypatch):
    saved, now = store.save(report), datetime.now(UTC)

    def clock(**ahead):
        class Clock(datetime):
            @classmethod
            def now(cls, tz=None):  # noqa: ARG003
                return now + timedelta(**ahead)

        for module in (entries, tables):
            monkeypatch.setattr(module, "datetime", Clock)

    store.delete(saved, by="Ada")
    clock(days=31)
    store.save(report)
    clock(hours=1)
    store.save(report)
    store.restore(saved, by="Ada")
    assert store.open(saved).title == "March"
    store.delete(saved, by="Ada")
    for days, kept in ((31, 1), (31.5, 1), (32.2, 0)):
        clock(days=days)
        store.sweep()
        assert len(store.resting()) == kept
    assert "expired" in {line.change for line in store.changes()}


def test_a_sweep_removes_what_rested_long_enough_though_nobody_saves(url, report):
    with Store(url, rest=timedelta(0)) as store:
        gone, kept = store.save(report), store.save(report)
        store.delete(gone, by="Ada")
        assert len(store.resting()) == 1
        store.sweep()
        assert store.resting() == ()
        assert store.open(kept).title == "March"


def test_an_operator_removes_for_good(store, report):
    first, second = store.save(report, owner="ada"), store.save(report)
    store.delete(first, by="the operator", for_good=True)
    store.delete(second, by="Ada")
    store.delete(second, by="the operator", for_good=True)
    assert store.resting() == ()
    assert len(store.deletions()) == 2
