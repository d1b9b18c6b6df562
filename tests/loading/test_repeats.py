"""Rows and ids that stand in a file more than once."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import analyze
from calib.loading import Columns, guess, load, read
from calib.loading.checking.mapped_rows import count_repeats
from tests.assessed import inspect
from tests.golden import Texts

RNG = np.random.default_rng(22)
N = 400
P = RNG.random(N)
FRAME = pd.DataFrame({"row_id": np.arange(N), "y": (RNG.random(N) < P).astype(int), "p": P})


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, -0.0, 0.25, float("nan")]),
            st.sampled_from(["a", "b", None]),
            st.integers(0, 3),
            st.booleans(),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_the_count_is_that_of_pandas(rows: list[tuple[float, str | None, int, bool]]) -> None:
    frame = pd.DataFrame(rows, columns=["p", "word", "id", "flag"])
    repeats = count_repeats(read(frame), Columns(score="p"))
    assert repeats.rows == int(frame.duplicated().sum())
    assert repeats.ids == int(frame["id"].duplicated().sum())


@pytest.mark.parametrize("as_text", [True, False])
def test_repeats_are_told_and_remembered(as_text: bool, texts: Texts) -> None:
    twice = pd.concat([FRAME, FRAME[:30], FRAME[:5].assign(p=0.5)], ignore_index=True)
    data = twice.to_csv(index=False) if as_text else twice
    table = read(data)
    told = {one.code: one for one in inspect(table, guess(table))}
    assert told["repeated-rows"].severity == "note"
    texts.shown(told["repeated-rows"].sentence)
    texts.shown(told["repeated-ids"].sentence)
    assert told["repeated-ids"].repair is not None
    assert told["repeated-ids"].repair.group == "row_id"
    found = load(data)
    assert found.origin is not None
    assert (found.origin.repeated_rows, found.origin.repeated_ids) == (30, 35)
    warned = " ".join(analyze(found, {"methods": ()}).warnings)
    texts.shown(warned)
    texts.shown(warned)


def test_what_stands_once_is_not_told() -> None:
    table = read(FRAME)
    assert not {one.code for one in inspect(table, guess(table))} & {
        "repeated-rows",
        "repeated-ids",
    }
    assert load(FRAME).remarks == ()


def test_a_number_that_many_rows_share_is_no_id() -> None:
    shared = FRAME.drop(columns="row_id").assign(customer_id=np.arange(N) % 9)
    assert count_repeats(read(shared), Columns(score="p")).ids == 0


def test_rows_that_mostly_repeat_have_few_columns_and_no_warning() -> None:
    coarse = pd.DataFrame({"y": FRAME["y"], "p": P.round(1)})
    found = load(coarse)
    assert found.origin is not None
    assert found.origin.repeated_rows == int(coarse.duplicated().sum())
    assert found.remarks == ()


OF_CLASSES = RNG.dirichlet(np.ones(3), N)
MATRIX = pd.DataFrame(OF_CLASSES, columns=["p_a", "p_b", "p_c"]).assign(
    label=[RNG.choice(list("abc"), p=row) for row in OF_CLASSES]
)


def copied(frame: pd.DataFrame, **named: str) -> bool:
    table = read(frame)
    mapping = guess(table, Columns(**named))  # type: ignore[arg-type]
    found = {one.code: one for one in inspect(table, mapping)}
    assert not ("copied-rows" in found and "repeated-rows" in found)
    return "copied-rows" in found


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("rows", [FRAME[["y", "p"]], MATRIX], ids=["binary", "matrix"])
def test_a_file_copied_into_itself_is_a_warning(rows: pd.DataFrame, times: int) -> None:
    several = pd.concat([rows] * times, ignore_index=True)
    assert copied(several)
    # The remark is also shown in Python and in reports.
    (remark,) = load(several).remarks
    assert all(fact in remark for fact in (f"{(times - 1) * N:,}", f"{times * N:,}"))
    assert remark in analyze(load(several), {"methods": ()}).warnings


def test_copies_in_clusters_are_no_warning() -> None:
    twice = pd.concat([FRAME.assign(who=np.arange(N))] * 2, ignore_index=True)
    assert copied(twice[["y", "p", "who"]])
    assert not copied(twice[["y", "p", "who"]], group="who")
    assert "copies" not in " ".join(load(twice[["y", "p", "who"]], group="who").remarks)


def test_equal_rows_of_rounded_scores_are_no_warning() -> None:
    assert not copied(pd.DataFrame({"y": FRAME["y"], "p": P.round(2)}))
    # Scores of 0 and 1 that are right repeat without being copies.
    sure = np.where(np.arange(N) % 4 == 0, P, (np.arange(N) % 4 == 1).astype(float))
    right = np.where(np.arange(N) % 4 == 0, FRAME["y"], sure)
    assert not copied(pd.DataFrame({"y": right.astype(int), "p": sure}))


def test_lists_are_compared_by_their_text() -> None:
    frame = pd.DataFrame({"id": [[1], [2], [2]], "p": [0.1, 0.2, 0.2]})
    repeats = count_repeats(read(frame), Columns(score="p"))
    assert (repeats.rows, repeats.ids) == (1, 1)


@pytest.mark.parametrize("decimals", [9, 4, 1])
@pytest.mark.parametrize("missing", [0, 30])
def test_the_count_of_many_rows_is_that_of_pandas(decimals: int, missing: int) -> None:
    rng = np.random.default_rng(7)
    n = 30_000
    p = rng.random(n).round(decimals)
    p[rng.integers(0, n, missing)] = np.nan
    frame = pd.DataFrame({"p": p, "y": rng.integers(0, 2, n), "age": rng.integers(0, 90, n)})
    frame = pd.concat([frame, frame[:500]], ignore_index=True)
    repeats = count_repeats(read(frame), Columns(score="p"))
    assert repeats.rows == int(frame.duplicated().sum()) >= 500
