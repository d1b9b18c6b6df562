"""Ids and codes: what tells rows apart in the file tells them apart here."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib.loading import load, load_models, read
from calib.scanning import scan, scan_sample
from tests.rare import common_first, rare

RNG = np.random.default_rng(18)
N = 600
Y = RNG.integers(0, 2, N)
P = RNG.uniform(0.05, 0.95, N)
# Floats cannot distinguish these whole numbers, which differ by one above 2^60.
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
    monkeypatch.setattr("calib.loading.reading.delimited_text.LARGE_TEXT_BYTES", 100)
    monkeypatch.setattr("calib.loading.reading.text_cells.PART_BYTES", 2_000)
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
    frame = pd.DataFrame({"y": Y, "p": P, "group": group, "sample_weight": RNG.integers(2, 99, N)})
    found = load(stored(frame, kind))  # type: ignore[arg-type]
    assert len(set(found.group.tolist())) == 14  # type: ignore[union-attr]
    np.testing.assert_array_equal(found.weight, frame["sample_weight"])


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


def test_many_different_fractions_are_amounts_and_stay_numbers() -> None:
    amounts = RNG.integers(1, 500, N) / 2  # Half of them are written with .0 at the end.
    assert (
        read(pd.DataFrame({"y": Y, "p": P, "amount": amounts}).to_csv(index=False))
        .frame["amount"]
        .tolist()
        == amounts.tolist()
    )


@pytest.mark.parametrize(
    "text",
    [
        'y,p,v\n1, 0.5, "1.10"\n0,0.25,1.1\n',
        "y p v\n1 0.5  1.10\n0 0.25 1.1\n",
        "y,p,v\n1,0.5,1.10\n\n  \n0,0.25, 1.1\n",
        "y;p;v;z\n1;0,5;1,10;\n0;0,25;1,1;3\n",
    ],
)
def test_names_are_read_as_written_in_texts_of_every_layout(text: str) -> None:
    assert [str(name).strip() for name in read(text).frame["v"]] == ["1.10", "1.1"]


def test_a_minus_before_zero_is_kept() -> None:
    assert read("y,p,v\n1,0.5,-0\n0,0.25,0\n").frame["v"].tolist() == ["-0", "0"]


# Pairs of names that are equal as numbers or truth values.
WRITTEN = [
    ("1.1", "1.10"),
    ("1", "1.0"),
    ("01", "1"),
    ("10", "1e1"),
    ("+2", "2"),
    ("TRUE", "true"),
    ("Infinity", "inf"),
    ("0.1", "0.10"),
]


@pytest.mark.parametrize("kind", common_first(KINDS, ["csv", "parquet"]))
@pytest.mark.parametrize("names", WRITTEN, ids="/".join)
def test_names_are_read_as_they_are_written(kind: str, names: tuple[str, str]) -> None:
    name = np.array(names * (N // 2))
    data = stored(pd.DataFrame({"y": Y, "p": P, "v": name}), kind)
    assert load(data, slices=["v"]).columns["v"].tolist() == name.tolist()  # type: ignore[arg-type]
    assert load(data, group="v").group.tolist() == [0, 1] * (N // 2)  # type: ignore[arg-type, union-attr]
    assert set(load(data, fold="v").fold_names) == set(names)  # type: ignore[arg-type]
    models = load_models(data, model="v")  # type: ignore[arg-type]
    assert {model: len(rows) for model, rows in models.items()} == dict.fromkeys(names, N // 2)
    one = load(data, model="v", model_value=names[1])  # type: ignore[arg-type]
    np.testing.assert_array_equal(one.scores, P[1::2])


@rare
@pytest.mark.parametrize("suffix", common_first(["csv", "parquet"], ["csv"]))
@pytest.mark.parametrize(
    "names",
    [*(pytest.param(names, marks=rare) for names in WRITTEN), ("007", "7", "008", "")],
    ids="/".join,
)
def test_a_scan_names_slices_models_and_groups_as_a_file_that_is_loaded(
    suffix: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    rows = pd.DataFrame({"y": Y, "p": P, "v": names * (N // len(names))})
    path = tmp_path / f"rows.{suffix}"
    if suffix == "csv":
        rows.to_csv(path, index=False)
    else:
        rows.replace("", None).to_parquet(path)
    what = {"outcome": "y", "score": "p"}
    counted = scan(path, slices=["v"], positive=1, **what)
    loaded = set(load(path, slices=["v"], **what).columns["v"].tolist())
    assert {part.value for part in counted.parts if part.column == "v"} == loaded
    assert set(scan_sample(path, slices=["v"], **what).columns["v"].tolist()) == loaded
    if "" not in names:
        assert set(scan(path, model="v", positive=1, **what).models) == set(names)
        assert len(set(scan(path, group="v", positive=1, **what).strata.group)) == len(names)


def test_names_beside_an_empty_cell_are_read_as_they_are_written() -> None:
    text = pd.DataFrame({"y": Y, "p": P, "g": ["007", "7", "008", "8", ""] * 120}).to_csv(
        index=False
    )
    found = load(text, group="g", slices=["g"])
    assert set(found.columns["g"].tolist()) == {"007", "7", "008", "8", "(missing)"}
    # Each row without a group is its own: 120 of them, and four groups.
    assert len(set(found.group.tolist())) == 124  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "labels", [("0", "1"), ("00", "01", "1", "0"), ("0.0", "1", "0", "1.0"), ("-1", "+1")]
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_outcomes_that_are_equal_numbers_are_one_label(kind: str, labels: tuple[str, ...]) -> None:
    if kind == "parquet" and "01" in labels:
        labels = ("0.0", "1.0", "1", "0")
    rows = pd.DataFrame({"y": labels * (N // len(labels)), "p": P})
    found = load(stored(rows, kind), outcome="y", score="p", positive=1)  # type: ignore[arg-type]
    assert len(found.class_names) == 2
    np.testing.assert_array_equal(found.outcome, [float(label) > 0 for label in rows["y"]])


def test_a_person_may_write_a_number_for_a_name() -> None:
    text = pd.DataFrame({"y": Y, "p": P, "m": ["1.0", "2.0"] * (N // 2)}).to_csv(index=False)
    assert len(load(text, model="m", model_value=1)) == N // 2
    both = text.replace(",2.0\n", ",1\n")
    np.testing.assert_array_equal(load(both, model="m", model_value=1).scores, P[1::2])


def test_a_name_may_have_a_decimal_comma_beside_it() -> None:
    cells = [f"{p:.3f}".replace(".", ",") for p in P]
    weight = [f"{i % 9 + 1},500" for i in range(N)]
    rows = pd.DataFrame({"y": Y, "p": cells, "sample_weight": weight})
    found = load(rows.to_csv(index=False, sep=";"))
    np.testing.assert_allclose(found.scores, P.round(3), atol=1e-12)
    np.testing.assert_array_equal(found.weight, np.arange(N) % 9 + 1.5)
