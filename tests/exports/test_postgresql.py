"""The query for PostgreSQL, run in PostgreSQL where its programs are here."""

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest

import calib
from calib.exports.document import ulps
from tests.rare import common_first
from tests.store import postgres


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


# The query of `ks_spline` is that of `spline` with more pieces.
KEYS = ["beta", "spline", "isotonic", "ks_spline", "venn_abers", "platt"]


@pytest.mark.parametrize("key", common_first(KEYS, set(KEYS) - {"ks_spline"}))
def test_postgresql_gives_the_bits_that_are_predicted(key, fit, server, tmp_path):
    fitted = fit(key)
    path = calib.export(fitted, tmp_path / "map.sql", dialect="postgres")
    drawn = np.random.default_rng(4).random(2_000)
    scores = np.concatenate([calib.exports.describe(fitted).scores, drawn])
    server.execute("CREATE TEMPORARY TABLE scores (place int, score double precision)")
    with server.cursor() as cursor:
        cursor.executemany("INSERT INTO scores VALUES (%s, %s)", list(enumerate(scores.tolist())))
        query = path.read_text().partition(";\n")[0]
        found = sorted(cursor.execute(query).fetchall())
    server.execute("DROP TABLE scores")
    assert (
        ulps(fitted.predict(scores), np.array([row[-1] for row in found])).max() <= 1
    )  # of 5e-324
