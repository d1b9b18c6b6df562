"""Negative labels: of more than two labels, those that are not positive are not all negative."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calib.loading import InputError, load
from calib.scanning import scan, scan_sql
from tests.golden import Texts

RNG = np.random.default_rng(27)
N = 400
P = RNG.uniform(0.02, 0.98, N).round(3)
Y = (RNG.random(N) < P).astype(int)
# Programs write these words in cells without a value; the last comes from joined files.
ODD = ("#REF!", "#NV", "k. A.", "\\N", "-1.#IND", "-9", "<NA>", "NaT", "0.4733")
MARKED = np.arange(N) % 5 == 2


def rows(odd: str, suffix: str = "csv") -> pd.DataFrame:
    return pd.DataFrame({"y": np.where(MARKED, odd, Y.astype(str)), "p": P})


def codes(error: InputError) -> list[str]:
    return [problem.code for problem in error.problems]


@pytest.mark.parametrize("odd", ODD)
def test_a_third_value_is_not_negative_without_a_word(odd: str) -> None:
    text = rows(odd).to_csv(index=False)
    for strict in (False, True):
        with pytest.raises(InputError) as refused:
            load(text, outcome="y", score="p", positive=1, strict=strict)
        assert codes(refused.value) == ["other-labels"]
    one, all_others = refused.value.problems[0].choices
    found = load(text, outcome="y", score="p", positive=1, strict=True, **one.arguments)
    np.testing.assert_array_equal(found.outcome, Y[~MARKED])
    np.testing.assert_array_equal(found.scores, P[~MARKED])
    assert found.set_aside == {"outcome neither positive nor negative": N // 5}
    assert found.class_names == ("0", "1")
    found = load(text, outcome="y", score="p", positive=1, strict=True, **all_others.arguments)
    np.testing.assert_array_equal(found.outcome, np.where(MARKED, 0, Y))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("odd", ["#REF!", "-9", "k. A."])
def test_a_scan_asks_the_same(odd: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{suffix}"
    frame = rows(odd)
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    named: dict[str, Any] = {"outcome": "y", "score": "p", "positive": 1}
    with pytest.raises(InputError) as refused:
        scan(path, **named)
    assert codes(refused.value) == ["other-labels"]
    with pytest.raises(InputError) as refused:
        scan(path, **named, negative=0)
    assert codes(refused.value) == ["missing"]
    counted = scan(path, **named, negative=0, drop_missing=True)
    assert counted.n_rows == N - N // 5
    assert counted.set_aside == {"outcome neither positive nor negative": N // 5}
    assert counted.class_names == ("0", "1")
    assert scan(path, **named, others_negative=True).n_rows == N


def test_the_result_of_a_query_asks_the_same(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows("-9").to_parquet(tmp_path / "rows.parquet")
    with duckdb.connect() as connection:
        connection.sql(f"CREATE VIEW rows AS SELECT * FROM '{tmp_path}/rows.parquet'")
        query = scan_sql("duckdb", table="rows", outcome="y", score="p")
        connection.sql(query).write_csv(str(tmp_path / "counts.csv"))
    with pytest.raises(InputError) as refused:
        scan(tmp_path / "counts.csv", positive=1)
    assert codes(refused.value) == ["other-labels"]
    counted = scan(tmp_path / "counts.csv", positive=1, negative=0)
    assert counted.n_rows == N - N // 5
    assert counted.set_aside == {"outcome neither positive nor negative": N // 5}
    assert scan(tmp_path / "counts.csv", positive=1, others_negative=True).n_rows == N


def test_the_question_in_words(texts: Texts) -> None:
    with texts.raises(InputError):
        load(rows("-9").to_csv(index=False), positive=1)
    with texts.raises(InputError):
        load(rows("-9").to_csv(index=False), positive=1, negative=0)
    with texts.raises(InputError):
        load(rows("-9").to_csv(index=False), positive=1, negative="no")
    with texts.raises(InputError) as refused:
        load(rows("-9").to_csv(index=False))
    # The offered answer counts no odd value as negative.
    mapping = refused.value.problems[0].repair
    assert mapping is not None
    assert (mapping.positive, mapping.negative, mapping.drop_missing) == ("1", "0", True)


def test_several_labels_may_be_negative() -> None:
    text = pd.DataFrame({"y": np.where(MARKED, "maybe", np.where(Y, "yes", "no")), "p": P}).to_csv()
    found = load(text, outcome="y", score="p", positive="yes", negative=["no", "Maybe"])
    np.testing.assert_array_equal(found.outcome, np.where(MARKED, 0, Y))
    assert found.class_names == ("not yes", "yes")
    assert load(text, **found.origin.arguments()).fingerprint == found.fingerprint  # type: ignore[union-attr]


def test_two_labels_need_no_answer() -> None:
    text = pd.DataFrame({"y": np.where(MARKED, "NA", Y.astype(str)), "p": P}).to_csv(index=False)
    found = load(text, positive=1, drop_missing=True, strict=True, outcome="y", score="p")
    assert found.set_aside == {"outcome unknown": N // 5}
