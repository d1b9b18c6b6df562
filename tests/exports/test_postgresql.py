"""The query for PostgreSQL, run in PostgreSQL where its programs are here."""

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest

import calib
from calib.calibrators import score_methods
from calib.exports import describe
from calib.exports.score_conversion import Conversion
from tests.exports.test_numbers import assert_equal
from tests.rare import rare
from tests.store import postgres

pytestmark = rare


@pytest.fixture(scope="module")
def server() -> Iterator[psycopg.Connection]:
    binaries = postgres.programs()
    if binaries is None:
        pytest.skip(postgres.MISSING)
    with (
        postgres.cluster(binaries) as folder,
        psycopg.connect(host=str(folder), user="calib", dbname="postgres", autocommit=True) as made,
    ):
        yield made


def given_by(server, path, scores, names=("score",)):
    columns = ", ".join(f'"{name}" double precision' for name in names)
    server.execute(f"CREATE TEMPORARY TABLE scores (place int, {columns})")
    rows = [(i, *row) for i, row in enumerate(scores.reshape(len(scores), -1).tolist())]
    marks = ", ".join(["%s"] * (1 + len(names)))
    try:
        with server.cursor() as cursor:
            cursor.executemany(f"INSERT INTO scores VALUES ({marks})", rows)
            rows_of_query = sorted(cursor.execute(path.read_text()).fetchall())
    finally:
        server.execute("DROP TABLE scores")
    last = [row[-len(names) :] for row in rows_of_query]
    assert all(isinstance(value, float | None) for row in last for value in row)
    return np.array(last, dtype=float).reshape(scores.shape)


@pytest.mark.parametrize("key", score_methods())
def test_postgresql_gives_what_is_predicted(key, fit, server, tmp_path):
    fitted = fit(key)
    path = calib.export(fitted, tmp_path / "map.sql", dialect="postgres")
    drawn = np.random.default_rng(4).random(2_000)
    scores = np.concatenate([describe(fitted).scores, drawn])
    assert_equal(given_by(server, path, scores), fitted.predict(scores))


@pytest.mark.parametrize("key", ["temperature", "structured", "dirichlet", "spline"])
def test_postgresql_gives_the_rows_of_a_matrix(key, fit, server, tmp_path):
    fitted = fit(key, matrix=True)
    path = calib.export(fitted, tmp_path / "map.sql", dialect="postgres")
    rows = np.vstack([describe(fitted).scores[:60], np.zeros(4), np.full(4, np.nan)])
    values = given_by(server, path, rows, ("0", "1", "2", "3"))
    assert np.isnan(values[-2:]).all()
    assert_equal(values[:-2], fitted.predict(rows[:-2]))


def test_postgresql_does_not_stop_at_numbers_that_overflow_or_become_0(server, tmp_path):
    scores, y = 0.5 + np.linspace(-1e-6, 1e-6, 400), np.arange(400) >= 200
    fitted = calib.calibrator("platt").fit(scores, y)
    path = calib.export(fitted, tmp_path / "map.sql", dialect="postgres")
    hard = np.array([0.0, 5e-324, 1e-320, 1e-308, 0.5, 1.0])
    assert_equal(given_by(server, path, hard), fitted.predict(hard))
    none = np.array([np.nan, np.inf, -np.inf, 1e300, -1.0])
    assert np.isnan(given_by(server, path, none)).all()


def test_postgresql_takes_the_sigmoid_of_any_log_odds(fit, server, tmp_path):
    conversion = Conversion("logit")
    path = calib.export(fit("beta"), tmp_path / "map.sql", dialect="postgres", transform="logit")
    raw = np.array([-1e6, -3.0, 0.0, 2.0, 1e6])
    expected = describe(fit("beta"), conversion=conversion).predict(raw)
    assert_equal(given_by(server, path, raw), expected)
