"""Ids and codes: what tells rows apart in the file tells them apart here."""

import io

import numpy as np
import pandas as pd
import pytest

from calib.loading import load, read

RNG = np.random.default_rng(18)
N = 600
Y = RNG.integers(0, 2, N)
P = RNG.uniform(0.05, 0.95, N)
# Whole numbers that floats cannot tell apart: steps of one above 2^60.
IDS = [2**60 + i // 4 for i in range(N)]
LARGER = [2**63 + i // 4 for i in range(N)]


def stored(frame: pd.DataFrame, kind: str) -> object:
    if kind == "frame":
        return frame
    if kind in ("csv", "tsv"):
        return frame.to_csv(index=False, sep="\t" if kind == "tsv" else ",")
    buffer = io.BytesIO()
    getattr(frame, f"to_{kind}")(buffer)
    return buffer.getvalue()


KINDS = ("frame", "csv", "tsv", "parquet", "feather")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("ids", "dtype"), [(IDS, "Int64"), (LARGER, "UInt64")])
def test_64_bit_ids_beside_an_empty_cell_stay_apart(kind: str, ids: list[int], dtype: str) -> None:
    group = pd.array(ids, dtype=dtype)
    group[7] = pd.NA
    found = load(stored(pd.DataFrame({"y": Y, "p": P, "group": group}), kind))  # type: ignore[arg-type]
    assert found.group is not None
    # 150 clusters, and one row that belongs to none.
    assert len(set(found.group.tolist())) == 151
    assert (found.group[8:12] == found.group[8]).all()


def test_64_bit_ids_stay_apart_in_a_text_that_is_read_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("calib.loading.reading.text.LARGE", 100)
    monkeypatch.setattr("calib.loading.reading.text.PART", 2_000)
    group = pd.array(IDS, dtype="Int64")
    group[N - 3] = pd.NA
    found = load(pd.DataFrame({"y": Y, "p": P, "group": group}).to_csv(index=False))
    assert len(set(found.group.tolist())) == 151  # type: ignore[union-attr]


def test_64_bit_ids_of_two_files_stay_apart() -> None:
    group = pd.array(IDS, dtype="Int64")
    group[7] = pd.NA
    first = pd.DataFrame({"y": Y, "p": P, "group": IDS}).to_csv(index=False)
    second = pd.DataFrame({"y": Y, "p": P, "group": group}).to_csv(index=False)
    third = pd.DataFrame({"y": Y, "p": P, "group": LARGER}).to_csv(index=False)
    assert len(set(load(first, test=second).group.tolist())) == 151  # type: ignore[union-attr]
    assert len(set(load(first, test=third).group.tolist())) == 300  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_leading_zeros_tell_codes_apart(kind: str) -> None:
    group = [f"{i % 7:03d}" if i % 2 else str(i % 7) for i in range(N)]
    frame = pd.DataFrame({"y": Y, "p": P, "group": group, "weight": RNG.integers(2, 99, N)})
    found = load(stored(frame, kind))  # type: ignore[arg-type]
    assert len(set(found.group.tolist())) == 14  # type: ignore[union-attr]
    np.testing.assert_array_equal(found.weight, frame["weight"])


def test_a_leading_zero_far_below_is_seen() -> None:
    zips = ["1067"] * N
    zips[N - 1] = "01067"
    text = pd.DataFrame({"y": Y, "p": P, "zip": zips}).to_csv(index=False)
    assert set(load(text, slices=["zip"]).columns["zip"].tolist()) == {"1067", "01067"}


def test_other_numbers_stay_numbers() -> None:
    frame = pd.DataFrame({"y": Y, "p": P, "n": RNG.integers(0, 99, N), "day": ["2020-01-05"] * N})
    assert [dtype.kind for dtype in read(frame.to_csv(index=False)).frame.dtypes[:3]] == [
        "i",
        "f",
        "i",
    ]
