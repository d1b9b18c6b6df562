"""Properties: any bytes are read or refused, and any mapping is judged; nothing else is raised."""

import contextlib
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calib.loading import Columns, InputError, assess, guess, read
from tests.assessed import inspect, to_predictions

FILE = b"y,p,s\n0,0.25,a\n1,0.5,b\n0,0.75,a\n1,0.125,b\n1,0.5,a\n0,0.5,b\n"
PIECES = st.sampled_from(
    [b'"', b",", b";", b"\n", b"\r", b"\t", b"%", b"inf", b"NaN", b"1e999", b"\xff", b"\0", b"-",
     b"true", b"2020-13-45", b"\xe2\x80\xa8", b"9" * 30, b"=1+1", b"PAR1"]
)  # fmt: skip
CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.floats(), st.text(max_size=3), st.just("50%")
)


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    with contextlib.suppress(InputError):
        assert len(read(data)) > 0


@given(st.lists(st.tuples(st.integers(0, len(FILE)), PIECES), max_size=5))
def test_a_file_with_accidents(accidents: list[tuple[int, bytes]]) -> None:
    data = FILE
    for place, piece in accidents:
        data = data[:place] + piece + data[place:]
    with contextlib.suppress(InputError):
        table = read(data)
        inspect(table, guess(table))


@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12),
    st.sampled_from(["none", "percent", "logit", "clip"]),
    st.booleans(),
    st.booleans(),
)
def test_any_cells(cells: list[object], transform: str, drop: bool, swap: bool) -> None:
    table = read(pd.DataFrame(cells, columns=["y", "p", "w"], dtype=object))
    mapping = Columns(
        outcome="y", score="p", positive="1", weight="w", slices=("w",), time="w",
        transform=transform, drop_missing=drop, swap=swap,  # type: ignore[arg-type]
    )  # fmt: skip
    wrong = [one for one in inspect(table, mapping) if one.severity == "error"]
    if not wrong:
        assert len(to_predictions(table, mapping)) <= len(cells)
        return
    with pytest.raises(InputError) as caught:
        to_predictions(table, mapping)
    assert list(caught.value.problems) == wrong


@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=1, max_size=12),
    st.sampled_from(["none", "percent", "clip", "softmax", "normalize"]),
    st.booleans(),
    st.sampled_from([None, "m", "y", "a"]),
)
@example([(True, "50%", 1.4e154, False)] * 2, "none", False, None)  # Its square is infinite.
def test_any_cells_of_a_matrix(cells: list[object], transform: str, drop: bool, model: str) -> None:
    table = read(pd.DataFrame(cells, columns=["y", "a", "b", "m"], dtype=object))
    guess(table, models=True)
    mapping = Columns(
        outcome="y", score=("a", "b"), transform=transform,  # type: ignore[arg-type]
        drop_missing=drop, model=model,
    )  # fmt: skip
    found = assess([table], mapping)
    wrong = any(problem.severity == "error" for problem in found.problems)
    assert wrong == (not found.models)
    for problem in found.problems:
        assert problem.sentence.endswith(".")


@given(st.lists(st.tuples(st.integers(0, 900), st.binary(max_size=3)), max_size=4))
def test_a_numpy_archive_with_accidents(accidents: list[tuple[int, bytes]]) -> None:
    stream = io.BytesIO()
    np.savez(stream, probs=np.full((4, 3), 1 / 3, dtype=np.float32), y=np.arange(4) % 3)
    data = stream.getvalue()
    for place, piece in accidents:
        data = data[:place] + piece + data[place + len(piece) :]
    with contextlib.suppress(InputError):
        table = read(data)
        assess([table], guess(table, models=True))
