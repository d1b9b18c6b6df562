"""Hostile files: each is refused, or read and told about, in a sentence; never a traceback."""

import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calib.data.aggregating import aggregate
from calib.data.predictions import Predictions
from calib.loading import Columns, InputError, guess, load, read
from calib.loading.examples import EXAMPLES
from calib.loading.reading.budget import Budget
from tests.assessed import inspect
from tests.golden import Texts
from tests.rare import common_first

GOOD = "y,p\n" + "0,0.2\n1,0.7\n" * 100


def parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer)
    return buffer.getvalue()


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, GOOD)
    return buffer.getvalue()


REFUSED = {
    "empty": (b"", "empty"),
    "blank": (b" \n\n \n", "empty"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "not-a-table"),
    "random bytes": (np.random.default_rng(0).bytes(5000), "not-a-table"),
    "bytes without zeros": (bytes(range(1, 32)) * 50, "not-a-table"),
    "pdf": (b"%PDF-1.7\n1 0 obj\n", "not-a-table"),
    "html": (b"<!DOCTYPE html><html><body>no</body></html>", "not-a-table"),
    "json": (b'{"y": [0, 1], "p": [0.1, 0.9], "n": 2}', "not-a-table"),
    "json cut short": (b'{"y": [0, 1], "p": [0.1, 0.', "damaged"),
    "zero byte": (GOOD.replace("0.7", "0.\x007", 1).encode(), "zero-bytes"),
    "only header": (b"y,p\n", "only-header"),
    "more cells than columns": (GOOD.replace("1,0.7", "1,0.7,extra", 1).encode(), "ragged"),
    "ragged far below": ((GOOD * 3).replace("y,p\n", "", 0).encode() + b"1,2,3\n", "ragged"),
    "names too few, a comma at every end": (
        b'"w","p","y",\n1,7.5,0.2,1,\n2,1.5,0.7,0,\n3,2.5,0.6,1,\n',
        "short-header",
    ),
    "open quotation mark": ((GOOD + '1,"0.7\n').encode(), "quotes"),
    "million characters in one cell": (f"y,p\n0,{'x' * 1_000_000}\n".encode(), "long-cell"),
    "million characters in a name": (f"y,{'p' * 1_000_000}\n0,1\n".encode(), "long-cell"),
    "many members": (zipped("a.csv", "b.csv"), "many-members"),
    "no member": (zipped(), "many-members"),
    "workbook": (zipped("xl/workbook.xml", "a.xml"), "damaged"),
    "numpy archive": (zipped("y.npy", "p.npy"), "damaged"),
    "gzip of nothing known": (b"\x1f\x8b" + b"garbage" * 9, "damaged"),
    "gzip cut short": (gzip.compress(GOOD.encode() * 9)[:-12], "damaged"),
    "xz garbage": (b"\xfd7zXZ\x00" + b"garbage" * 9, "damaged"),
    "bzip2 garbage": (b"BZh9" + b"garbage" * 9, "damaged"),
    "zstd garbage": (b"\x28\xb5\x2f\xfd" + b"garbage" * 9, "damaged"),
    "zip garbage": (b"PK\x03\x04" + b"garbage" * 9, "damaged"),
    "parquet cut short": (parquet(y=[0, 1], p=[0.1, 0.9])[:-20], "damaged"),
    "parquet with broken data": (b"PAR1" + b"\xff" * 200 + b"PAR1", "damaged"),
    "arrow garbage": (b"ARROW1\x00\x00" + b"garbage" * 9, "damaged"),
    "utf-16 cut short": ("y,p\n0,1\n".encode("utf-16")[:-1], "not-a-table"),
    "letter": (b"Dear all,\nthis is a letter.\nIt has commas, yes, indeed.\n", "not-a-table"),
    "prose without commas": (b"Lorem ipsum dolor\nsit amet consectetur\nelit\n", "not-a-table"),
    "log of a program": (b"09:00 INFO start\n09:01 WARN slow: 3 s\nstop\n", "not-a-table"),
    "source code": (b"import os\n\ndef f(a, b):\n    return a + b\n", "not-a-table"),
    "parquet of lists only": (parquet(p=[[1, 2], [3]]), "empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_a_sentence(case: str) -> None:
    data, code = REFUSED[case]
    with pytest.raises(InputError) as caught:
        read(data, "file.csv")
    (problem,) = caught.value.problems
    assert problem.code == code
    assert len(problem.sentence) < 400
    assert problem.sentence.endswith(".")
    assert caught.value.__cause__ is None


ROWS = [f"{i % 2},{0.2 + 0.5 * (i % 2) + i / 1e4}" for i in range(200)]


def csv(*lines: str, header: str = "y,p") -> bytes:
    return "\n".join([header, *lines]).encode()


READ = {
    "one row": (csv("1,0.7"), "one-class"),
    "one column": (b"p\n0.1\n0.2\n", "one-column"),
    "one column of names": (b"label\ncat\ndog\n", "one-column"),
    "strings in scores": (csv(*ROWS, "1,high", "0,low"), "text"),
    "only strings in scores": (csv("0,low", "1,high", "1,high", "0,low"), "text"),
    "formula": (csv(*ROWS, "1,=cmd|' /C calc'!A0"), "text"),
    "dates as scores": (csv("0,2020-01-01", "1,2020-01-02", "1,2021-05-05"), "text"),
    "thousands separators": (csv(*ROWS, '1,"1,234.5"'), "decimal-mark"),
    "missing outcome": (csv(*ROWS, ",0.5"), "missing"),
    "missing score": (csv(*ROWS, "1,NaN"), "missing"),
    "infinite": (csv(*ROWS, "1,inf", "0,-inf"), "infinite"),
    "empty column": (csv(*["0,", "1,"] * 50), "missing"),
    "duplicate names": (csv(*[f"{row},3" for row in ROWS], header="y,p,p"), "duplicate-columns"),
    "one class": (csv(*["1,0.7", "1,0.9"] * 50), "one-class"),
    "mixed types": (csv("0,0.1", "1,0.4", "yes,0.3", "0,0.2", "1,0.8"), "no-positive"),
    "latin-1": (csv(*[f"{row},caf\xe9" for row in ROWS], header="y,p,place"), None),
    "short rows": (csv(*ROWS, "1", ""), "missing"),
    "wide": (",".join(["y", "p", *(f"c{i}" for i in range(9_998))]).encode() + b"\n"
             + (b"0,0.2" + b",1" * 9_998 + b"\n" + b"1,0.7" + b",1" * 9_998 + b"\n") * 4, "few"),
    "thousand classes": (csv(*[f"{i},0.5" for i in range(1_000)]), "no-outcome"),
    "long cell far below": (csv(*ROWS, f"1,{'x' * 1_000_000}"), "text"),
}  # fmt: skip


# A file of 10,000 columns takes seconds.
@pytest.mark.parametrize("case", common_first(READ, [case for case in READ if case != "wide"]))
def test_read_and_told(case: str) -> None:
    data, code = READ[case]
    table = read(data)
    problems = inspect(table, guess(table))
    assert code is None or code in {problem.code for problem in problems}
    for problem in problems:
        assert len(problem.sentence) < 600
        assert problem.sentence.endswith(".")


def test_a_text_is_called_no_table_in_plain_words(texts: Texts) -> None:
    with texts.raises(InputError):
        read(b"# Title\n\nSome prose here.\n\n- a list\n- of things\n", "readme.txt")


def test_names_of_a_file_cannot_act_in_a_sentence(texts: Texts) -> None:
    evil = "<script>alert(1)</script>"
    link = "![x](http://example.org/`x`)"
    table = read(csv(*ROWS, "1,oops", header=f"{evil},{link}"))
    problems = inspect(table, guess(table, Columns(outcome=evil, score=link)))
    text = next(problem.sentence for problem in problems if problem.code == "text")
    # Within backticks Markdown shows everything as it is, and there is no backtick inside.
    texts.shown(text)
    assert "`" not in text.replace("`![x](http://example.org/'x')`", "").replace("`oops`", "")


@pytest.mark.parametrize("compress", [gzip.compress, lambda data: data], ids=["gzip", "plain"])
def test_a_bomb_is_not_unpacked(compress: object, texts: Texts) -> None:
    bomb = compress(b"0,0.1\n" * 100_000)  # type: ignore[operator]
    with texts.raises(InputError):
        read(bomb, "bomb.csv.gz", budget=Budget(size=500_000))


def test_a_table_of_too_many_cells_is_refused(texts) -> None:
    with texts.raises(InputError) as caught:
        Budget(cells=1000).check_cells(600, 2)
    assert caught.value.problems[0].code == "too-large"


def test_a_missing_file_is_told(texts: Texts) -> None:
    with texts.raises(InputError):
        load("nowhere.csv")


HALVES = GOOD[:600].encode(), GOOD[600:].encode()


def zipped_one(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("f.csv", data)
    return buffer.getvalue()


PACKERS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


@pytest.mark.parametrize("packer", PACKERS)
def test_every_stream_of_a_packed_file_is_read(packer: str) -> None:
    pack = PACKERS[packer]
    whole = read(GOOD.encode()).frame
    for parts in (HALVES, (b"", GOOD.encode()), (GOOD.encode(), b""), (*HALVES, b"", b"")):
        pd.testing.assert_frame_equal(read(b"".join(map(pack, parts))).frame, whole)
    # Every line is a separate stream.
    lines = GOOD.encode().splitlines(keepends=True)
    pd.testing.assert_frame_equal(read(b"".join(map(pack, lines))).frame, whole)


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("behind", [b"garbage" * 9, b"0,0.2\n", b"x"])
def test_what_is_no_stream_is_not_passed_over(packer: str, behind: bytes, texts: Texts) -> None:
    pack = PACKERS[packer]
    cut = pack(HALVES[0]) + pack(HALVES[1])[:-4]
    for data in (pack(GOOD.encode()) + behind, cut):
        with texts.raises(InputError):
            read(data)


def test_padding_is_no_stream() -> None:
    for pack in (gzip.compress, bz2.compress, lzma.compress, zipped_one):
        assert len(read(pack(GOOD.encode()) + b"\0" * 512)) == 200


def arrow_stream(**columns: object) -> bytes:
    table = pa.table(columns)
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def feather(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_feather(buffer)
    return buffer.getvalue()


def npz(**columns: object) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **columns)  # type: ignore[arg-type]
    return buffer.getvalue()


@pytest.mark.parametrize("write", [parquet, feather, arrow_stream, npz])
def test_files_one_behind_the_other_are_not_read_as_the_first_or_the_last(write) -> None:
    first, second = write(y=[0, 1], p=[0.1, 0.9]), write(y=[1, 0], p=[0.2, 0.3])
    assert read(first).frame["p"].tolist() == [0.1, 0.9]
    for data in (first + second, first + b"garbage"):
        with pytest.raises(InputError) as caught:
            read(data)
        assert caught.value.problems[0].code in ("several-files", "damaged")


def test_zip_archives_one_behind_the_other_are_refused(texts: Texts) -> None:
    first, second = (zipped_one(half) for half in HALVES)
    for data in (first + second, first + b"garbage"):
        with texts.raises(InputError):
            read(data)


@pytest.mark.parametrize("write", [parquet, feather, arrow_stream])
def test_names_and_words_that_are_no_text_are_refused(write) -> None:
    data = write(y=[0, 1], p=[0.1, 0.9], region=["north", "south"])
    assert len(read(data)) == 2
    for whole, broken in ((b"region", b"r\xbbgion"), (b"north", b"n\xffrth")):
        with pytest.raises(InputError) as caught:
            read(data.replace(whole, broken))
        assert caught.value.problems[0].code == "damaged"


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\n"])
def test_excels_hint_is_read_whatever_ends_the_lines(newline: str) -> None:
    lines = ["sep=;", "y;p", *(f"{i % 2};{0.1 + i / 50}" for i in range(20))]
    table = read(newline.join(lines).encode())
    assert table.columns == ("y", "p")
    assert len(table) == 20


def test_a_file_that_breaks_off_in_a_row_is_refused(texts: Texts) -> None:
    whole = csv(*(f"{row},north" for row in ROWS), header="y,p,s")
    with texts.raises(InputError):
        read(whole[: whole.rindex(b",") - 2])
    # A row may end before its empty cells, where a line break says that it ends there.
    assert len(read(whole + b"\n1,0.5\n")) == 201


def codes(data: bytes) -> list[str]:
    return [problem.code for problem in read(data).notes]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_last_number_that_lacks_digits_is_noted(delimiter: str, texts: Texts) -> None:
    score = np.random.default_rng(0).random(200)
    frame = pd.DataFrame({"y": np.arange(200) % 2, "p": score.round(15)})
    whole = frame.to_csv(index=False, sep=delimiter).encode().rstrip()
    for cut in range(9, 14):
        assert codes(whole[:-cut]) == ["perhaps-cut"]
    texts(read(whole[:-11]).notes[0].sentence)
    # With a line break at its end, the number was written so.
    assert codes(whole[:-11] + b"\n") == []
    assert codes(whole) == []
    # Few rows, or a score of 0 or 1, show nothing.
    assert codes(frame.head(10).to_csv(index=False).encode().rstrip()[:-11]) == []
    assert codes(whole[: whole.rindex(b".") - 1] + b"1.0") == []


@pytest.mark.parametrize("key", EXAMPLES)
@pytest.mark.parametrize("digits", common_first([2, 4, 17], [4]))
def test_complete_files_without_a_last_line_break_have_no_note(key: str, digits: int) -> None:
    for predictions in EXAMPLES[key].load_models().values():
        score = predictions.scores.reshape(len(predictions), -1)[:, -1].round(digits)
        for values in (score, np.sort(score), np.sort(score)[::-1]):
            frame = pd.DataFrame({"y": predictions.outcome, "p": values})
            assert codes(frame.to_csv(index=False).encode().rstrip()) == []


def test_numbers_above_nameless_columns_are_a_header_with_a_delimiter_at_its_end_too() -> None:
    lines = [f"{i},{i % 2},{0.31 + i / 50:.3f}," for i in range(20)]
    table = read("\n".join([",0,1,", *lines, ""]))
    assert len(table) == 20
    np.testing.assert_allclose(load("\n".join([",0,1,", *lines, ""])).scores[0], 0.31)


def test_one_and_two_are_asked_for(texts: Texts) -> None:
    text = "y,p\n" + "".join(f"{1 + i % 2},{0.02 * i + 0.01:.2f}\n" for i in range(40))
    with texts.raises(InputError):
        load(text)
    assert load(text, positive="2").outcome[:4].tolist() == [0, 1, 0, 1]


def test_of_two_nameless_columns_of_fractions_none_is_taken_for_the_score(texts: Texts) -> None:
    text = "".join(f"{i % 2},{i + 1.5},{i / 3 - 4:.3f}\n" for i in range(20))
    with texts.raises(InputError):
        load(text, transform="logit")


@pytest.mark.parametrize("mark", ["'", "’", " ", "_", "\u00a0"])
def test_marks_that_can_only_separate_thousands_are_read(mark: str) -> None:
    rows = "".join(f"{i % 2};{0.02 * i + 0.01:.2f};{i + 1}{mark}234.5\n" for i in range(40))
    weight = load(f"y;p;sample_weight\n{rows}").weight
    np.testing.assert_allclose(weight, np.arange(1, 41) * 1000 + 234.5)


def test_groups_of_three_beside_percentages_with_a_point_are_asked_for(texts: Texts) -> None:
    rows = "".join(f"{i % 2};{2 * i + 1.5}%;1,{100 + i}\n" for i in range(40))
    with texts.raises(InputError):
        load(f"y;p;weight\n{rows}", weight="weight")


def test_blanks_behind_commas_do_not_separate_cells_in_a_ragged_file(texts: Texts) -> None:
    rows = [f"{i},  {i % 2},  {2 * i + 1.5}%" for i in range(40)]
    with texts.raises(InputError):
        read("\n".join([",  0,  1", f"{rows[0]},1", *rows[1:], ""]))


@pytest.mark.parametrize("packer", PACKERS)
def test_a_small_file_takes_little_memory(packer: str) -> None:
    packed = PACKERS[packer](GOOD.encode())
    tracemalloc.start()
    try:
        read(packed)
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()


def test_a_header_that_runs_into_the_first_row_is_refused(texts: Texts) -> None:
    with texts.raises(InputError):
        read(csv(*(f"{row},north" for row in ROWS), header="y,p,s1,0.6315,east"))
    with texts.raises(InputError):
        read(csv(*(f"{row},north" for row in ROWS), "0,0.3,x,0.4,y", header="y,p,0.6,s1,east"))


def test_a_zip_member_without_a_name_is_no_traceback() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(""), GOOD)
    assert len(read(buffer.getvalue())) == 200


def test_counts_are_not_read_as_rows(tmp_path, texts):
    path = tmp_path / "march.parquet"
    rows = Predictions.from_arrays([0, 1, 1], [0.2, 0.7, 0.9])
    aggregate(rows).save(path)
    with texts.raises(InputError):
        load(path)


@pytest.mark.parametrize("n_columns", [30_000, 200_000])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_too_many_columns_are_the_reason(n_columns: int, delimiter: str) -> None:
    header = delimiter.join(f"c{i}" for i in range(n_columns))
    text = f"{header}\n{delimiter.join('1' * n_columns)}\n"
    with pytest.raises(InputError) as refused:
        read(text.encode())
    assert [problem.code for problem in refused.value.problems] == ["too-wide"]


def test_lists_in_lists_are_the_reason() -> None:
    kind, value = pa.int64(), 1
    for _ in range(60):
        kind, value = pa.list_(kind), [value]
    buffer = io.BytesIO()
    columns = {"y": [0, 1], "p": [0.2, 0.7], "x": pa.array([value] * 2, kind)}
    pq.write_table(pa.table(columns), buffer)
    with pytest.raises(InputError) as refused:
        read(buffer.getvalue())
    assert [problem.code for problem in refused.value.problems] == ["too-nested"]
