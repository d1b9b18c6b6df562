"""Whatever wraps a table, the same table comes out."""

import bz2
import gzip
import io
import lzma
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from calib.loading import MAX_BYTES, InputError, load, read
from calib.loading.reading.reader import stem
from tests.golden import Texts

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(
    {
        "y": RNG.integers(0, 2, 300),
        "p": RNG.random(300),
        "place": RNG.choice(["Zürich", "New York", "Aix; en"], 300),
    }
)


def text(**how: object) -> str:
    return TABLE.to_csv(index=False, **how)  # type: ignore[call-overload]


def same(data: bytes, name: str = "upload") -> None:
    table = read(data, name)
    pd.testing.assert_frame_equal(table.frame, TABLE, check_dtype=False)
    assert table.first_row == (1 if data[:4] in (b"PAR1", b"ARRO", b"\xff" * 4) else 2)


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_delimiters(delimiter: str, ending: str) -> None:
    same(text(sep=delimiter, lineterminator=ending).encode(), "wrong-extension.parquet")


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_encodings(encoding: str) -> None:
    same(text().encode(encoding))


def test_a_guessed_encoding_is_told() -> None:
    data = text().encode("cp1252")
    same(data)
    assert [note.code for note in read(data).notes] == ["encoding"]
    assert not read(text().encode()).notes


def zstd(data: bytes) -> bytes:
    buffer = pa.BufferOutputStream()
    with pa.CompressedOutputStream(buffer, "zstd") as stream:
        stream.write(data)
    return buffer.getvalue().to_pybytes()


def zipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/table.csv", data)
        archive.writestr("__MACOSX/._table.csv", b"x")
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstd, zipped])
def test_compressions(pack: object) -> None:
    same(pack(text().encode()))  # type: ignore[operator]


def test_parquet_and_arrow() -> None:
    arrow = pa.Table.from_pandas(TABLE)
    parquet = io.BytesIO()
    TABLE.to_parquet(parquet)
    feather = io.BytesIO()
    TABLE.to_feather(feather)
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, arrow.schema) as writer:
        writer.write_table(arrow)
    for data in (parquet.getvalue(), feather.getvalue(), stream.getvalue().to_pybytes()):
        same(data, "upload.csv")


def test_columns_of_lists_are_left_out_and_told() -> None:
    buffer = io.BytesIO()
    TABLE.assign(embedding=[[0.1, 9.0]] * 300).to_parquet(buffer)
    table = read(buffer.getvalue())
    assert table.columns == ("y", "p", "place")
    assert "`embedding`" in table.notes[0].sentence


def test_without_a_header() -> None:
    table = read("0,0.25\n1,0.75\n")
    assert table.columns == ("column 1", "column 2")
    assert table.frame["column 2"].tolist() == [0.25, 0.75]
    assert table.first_row == 1


def test_class_names_that_are_numbers_are_a_header() -> None:
    assert read("y,0,1\n0,0.25,0.75\n1,0.5,0.5\n").columns == ("y", "0", "1")


def test_row_names_as_r_writes_them() -> None:
    table = read('"y" "p"\n"1" 0 0.25\n"2" 1 0.75\n')
    assert table.columns == ("column 1", "y", "p")
    assert table.frame["p"].tolist() == [0.25, 0.75]


def test_a_delimiter_at_each_end_makes_no_column() -> None:
    assert read("y,p,\n0,0.25,\n1,0.75,\n").columns == ("y", "p")


@pytest.mark.parametrize("first", ["", "y;p\n", "sep=;\ny;p\n"])
def test_decimal_commas(first: str) -> None:
    assert read(f"{first}0;0,25\n1;0,75\n").frame.iloc[:, 1].tolist() == [0.25, 0.75]


def test_numbers_survive_to_the_last_bit() -> None:
    p = RNG.random(5000)
    table = read("p,q\n" + "\n".join(f"{v!r},1" for v in p.tolist()))
    assert (table.frame["p"].to_numpy() == p).all()


def test_long_quoted_header_over_two_lines() -> None:
    assert read('y,"p\nof yes"\n0,0.25\n1,0.5\n').frame.iloc[:, 1].tolist() == [0.25, 0.5]


def test_a_ragged_line_is_named(texts: Texts) -> None:
    with texts.raises(InputError):
        read("y,p\n0,0.1\n1,0.2\n1,0.2,9\n0,0.1\n0,0.4\n0,0.3\n0,0.2\n")


def test_frames_keep_their_names_apart() -> None:
    frame = pd.DataFrame([[0, 0.1, 3], [1, 0.2, 4]], columns=["y", "p", "p"])
    table = read(frame)
    assert table.columns == ("y", "p", "p (2)")
    assert [note.code for note in table.notes] == ["duplicate-columns"]


def test_the_preview_counts_rows_as_a_spreadsheet() -> None:
    assert list(read("y,p\n0,0.1\n1,0.3\n").preview().index) == [2, 3]


@pytest.mark.parametrize("last", ["0,0.5,a", "0,high,a", "maybe,0.5,7", "3.5,,"])
def test_a_large_text_read_in_parts_is_the_same_table(
    last: str, monkeypatch: pytest.MonkeyPatch, texts: Texts
) -> None:
    data = (text() + last + "\n").encode()
    whole = read(data).frame
    monkeypatch.setattr("calib.loading.reading.delimited_text.LARGE_TEXT_BYTES", 100)
    monkeypatch.setattr("calib.loading.reading.text_cells.PART_BYTES", 500)
    pd.testing.assert_frame_equal(read(data).frame, whole)
    with texts.raises(InputError):
        read(data + b"1,2,3,4\n")


def test_the_page_and_the_server_take_files_as_large_as_the_reader() -> None:
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())
    assert config["server"]["maxUploadSize"] * 2**20 == MAX_BYTES


def polars_frame(table: pa.Table) -> object:
    return pytest.importorskip("polars").from_arrow(table)


@pytest.mark.parametrize("convert", [lambda table: table, polars_frame], ids=["pyarrow", "polars"])
def test_frames_of_other_libraries_are_read_by_arrow(convert) -> None:
    ids = pa.array([2**62 + 1, None, 2**62 + 3, 4], pa.int64())
    table = pa.table({"y": [0, 1, 1, 0], "p": [0.2, 0.7, 0.9, 0.4], "id": ids, "s": list("abab")})
    found = load(convert(table), outcome="y", score="p", slices=["s"])
    assert found.scores.tolist() == [0.2, 0.7, 0.9, 0.4]
    assert found.columns["s"].tolist() == ["a", "b", "a", "b"]
    assert read(convert(table)).frame["id"].iloc[0] == 2**62 + 1


def test_a_dict_of_columns_is_refused_in_words(texts: Texts) -> None:
    with texts.raises(TypeError):
        read({"y": [0, 1], "p": [0.2, 0.7]})  # type: ignore[arg-type]


def test_data_are_called_by_their_file_without_its_suffixes() -> None:
    assert [stem("scores.csv"), stem("scores.csv.gz")] == ["scores", "scores"]
