from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, Engine, insert, inspect, text

from calib.store import Store, StoreError
from calib.store.engine import checked_url, make_engine
from calib.store.tables import STEPS, metadata, migrate, titles

LAST = len(STEPS) + 1


def added(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE calib_new (x INTEGER)"))


def failing(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE half (x INTEGER)"))
    connection.execute(text("DROP TABLE no_such_table"))


@pytest.fixture
def engine(url):
    made = make_engine(checked_url(url), 10.0)
    yield made
    made.dispose()


def versions(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return list(connection.scalars(text("SELECT version FROM calib_schema ORDER BY version")))


def test_an_empty_database_gets_the_tables_that_queries_ask_for(engine):
    migrate(engine)
    inspector = inspect(engine)
    for table in metadata.tables.values():
        made = {column["name"]: column for column in inspector.get_columns(table.name)}
        assert list(made) == [column.name for column in table.columns]
        assert all(not made[c.name]["nullable"] for c in table.columns if not c.primary_key)
        key = inspector.get_pk_constraint(table.name)["constrained_columns"]
        assert key == [column.name for column in table.primary_key]
    assert versions(engine) == [LAST]


def test_a_second_start_changes_nothing(engine):
    migrate(engine)
    with engine.connect() as connection:
        before = connection.execute(text("SELECT * FROM calib_schema ORDER BY version")).all()
    migrate(engine)
    with engine.connect() as connection:
        after = connection.execute(text("SELECT * FROM calib_schema ORDER BY version")).all()
    assert after == before


def test_reports_stay_when_a_step_is_added(engine, url, report):
    with Store(url) as store:
        report_id = store.save(report)
    migrate(engine, [*STEPS, added])
    with engine.connect() as connection:
        assert connection.scalars(text("SELECT id FROM calib_reports")).all() == [report_id]
        assert connection.scalars(text("SELECT x FROM calib_new")).all() == []
    assert versions(engine) == [LAST, LAST + 1]


def test_a_step_that_fails_changes_nothing(engine, texts):
    migrate(engine)
    with texts.raises(Exception):
        migrate(engine, [*STEPS, added, failing])
    assert versions(engine) == [LAST]
    assert not {"calib_new", "half"} & set(inspect(engine).get_table_names())


def test_tables_of_another_version_are_refused_and_stay(engine, url, texts):
    migrate(engine)
    migrate(engine, [*STEPS, added])
    with texts.raises(StoreError):
        Store(url)
    assert versions(engine) == [LAST, LAST + 1]
    assert inspect(engine).has_table("calib_new")


def test_starts_at_once_migrate_once(url, engine):
    def start(_number: int) -> int:
        with Store(url) as store:
            return store.count()

    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(start, range(12))) == [0] * 12
    assert versions(engine) == [LAST]


def renamed(engine: Engine, report_id: str) -> None:
    """Rename a report in the list, as versions before this one did."""
    line = {"report_id": report_id, "title": "April 2026", "searched": "april 2026"}
    with engine.begin() as connection:
        connection.execute(insert(titles).values(line))


def test_a_report_that_an_earlier_version_renamed_keeps_its_title(engine, url, report):
    with Store(url) as store:
        report_id, before = store.save(report), report.json()
        renamed(engine, report_id)
        (entry,) = store.list("april")
        assert entry.title == store.entry(report_id).title == "April 2026"
        assert store.open(report_id).json() == before
        # Its own title finds it too.
        assert store.count("march") == store.count("march april") == 1
        assert store.count("may") == 0
        store.delete(report_id, by="Bo")
        assert store.resting()[0].title == "April 2026"
        store.restore(report_id, by="Bo")
        assert not store.verify().problems
        store.delete(report_id, by="Bo", for_good=True)
        assert store.list() == ()
        assert not store.verify().problems


def test_a_database_of_the_first_schema_opens(engine, url, report):
    with Store(url) as store:
        report_id = store.save(report)
    with engine.begin() as connection:
        for table in ("titles", "monitor_days", "monitor_entries", "monitors"):
            connection.execute(text(f"DROP TABLE calib_{table}"))
        connection.execute(text("UPDATE calib_schema SET version = 1"))
    with Store(url) as store:
        assert store.list("march")[0].id == report_id
    assert versions(engine) == [1, LAST]
