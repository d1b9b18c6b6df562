"""Files of other programs: each format as its smallest file, read as the table that it holds."""

import io
import json
import struct
from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calib.data.file_options import FileFormat
from calib.loading import InputError, InputWarning, load, read
from tests.golden import Texts
from tests.loading.bombs import far_cell
from tests.loading.workbooks import ods, xlsx

FRAME = pd.DataFrame({"y": ["no", "yes", "yes"], "p": [0.25, 0.3, 0.75], "n": [1, 2, 3]})
ROWS = [list(FRAME), *FRAME.astype(object).to_numpy().tolist()]
ARFF = b"""% Written by a test.
@RELATION 'two columns'
@ATTRIBUTE y {no, yes}
@attribute 'p of yes' NUMERIC
@attribute text string
@DATA
% A comment.
yes,0.8,'a, b'
no,?,'it\\'s'
"""
# The first 24 bytes of each file, or more, tell its format.
SAS = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")


def saved(save: Callable[..., object], **how: object) -> bytes:
    buffer = io.BytesIO()
    save(buffer, **how)
    return buffer.getvalue()


FILES = {
    "xlsx": xlsx({"Rows": ROWS}),
    "ods": ods({"Rows": ROWS}),
    "Stata": saved(FRAME.to_stata, write_index=False, version=117),
    "Stata, old": saved(FRAME.to_stata, write_index=False, version=114),
    "Stata, labels": saved(FRAME.astype({"y": "category"}).to_stata, write_index=False),
    **{
        f"JSON, {orient}": FRAME.to_json(orient=orient).encode()
        for orient in ("split", "columns", "index", "records")
    },
    "JSON, lists": json.dumps(FRAME.to_dict("list")).encode(),
    "JSON, wider than long": FRAME.head(2).to_json().encode(),
    "ARFF": b"@relation r\n@attribute y {no,yes}\n@attribute p real\n@attribute n integer\n@data\n"
    + FRAME.to_csv(index=False, header=False).encode(),
}


@pytest.mark.parametrize("name", FILES)
def test_the_same_table_comes_from_every_format(name: str) -> None:
    table = read(FILES[name], "rows")
    assert not table.notes
    assert table.columns == tuple(FRAME)
    expected = FRAME.head(len(table))
    assert table.frame["y"].tolist() == expected["y"].tolist()
    np.testing.assert_array_equal(table.frame[["p", "n"]], expected[["p", "n"]])


def test_a_table_of_json_with_its_schema() -> None:
    table = read(FRAME.to_json(orient="table").encode())
    assert table.columns == ("index", "y", "p", "n")


def test_arff_has_quoted_names_and_cells_and_missing_ones() -> None:
    table = read(ARFF)
    assert table.columns == ("y", "p of yes", "text")
    assert table.frame["text"].tolist() == ["a, b", "it's"]
    assert table.frame["p of yes"].isna().tolist() == [False, True]


SHEETS = {
    "Notes": [["Made by", "a test"]],
    "Scores": [[None], ["Results"], ["y", "p", "id"], [1, 0.25, "007"], [0, 0.5, "x"]],
    "Other": [["y", "p"], *[[True, 0.1 + 0.2], [False, 0.5]] * 2],
}


def test_the_first_sheet_with_numbers_is_read_and_the_others_are_told(texts: Texts) -> None:
    table = read(xlsx(SHEETS), "book.xlsx")
    assert table.sheets == ("Scores", "Notes", "Other")
    assert table.columns == ("y", "p", "id")
    assert table.frame["id"].tolist() == ["007", "x"]
    assert table.first_row == 4
    assert [guess.argument for guess in table.guesses] == ["sheet"]
    texts("\n".join(note.sentence for note in table.notes))


def test_a_sheet_is_chosen_by_its_name(texts: Texts) -> None:
    book = xlsx(SHEETS)
    found = load(book, outcome="y", score="p", sheet="Other")
    assert found.scores.tolist() == [0.1 + 0.2, 0.5] * 2
    assert found.origin is not None
    assert found.origin.arguments()["sheet"] == "Other"
    with texts.raises(InputError):
        read(book, given=FileFormat(sheet="Others"))


REFUSED = {
    "a workbook without rows": (xlsx({"Empty": []}), "empty"),
    "Word": (b"\xd0\xcf\x11\xe0" + b"no workbook" * 60, "damaged"),
    "a part of a Stata file": (b"<stata_dta><header>cut", "damaged"),
    "a part of a SAS file": (SAS + b"cut" * 200, "damaged"),
    "a part of a transport file": (b"HEADER RECORD*******LIBRARY HEADER" + b" " * 99, "damaged"),
    "sparse ARFF": (b"@relation r\n@attribute y real\n@data\n{0 1}\n", "sparse"),
    "ARFF without rows": (b"@relation r\n@attribute y real\n", "empty"),
    "SPSS": (b"$FL2@(#) SPSS DATA FILE", "not-a-table"),
    "R, one object": (b"X\n\0\0\0\3\0\4", "not-a-table"),
    "R, several objects": (b"RDX3\nX\n\0\0\0\3", "not-a-table"),
    "MATLAB": (b"MATLAB 5.0 MAT-file, Platform: GLNXA64", "not-a-table"),
    "Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "git-lfs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_refused_with_a_way_out(name: str, texts: Texts) -> None:
    content, code = REFUSED[name]
    with texts.raises(InputError) as caught:
        read(content, "file")
    assert [problem.code for problem in caught.value.problems] == [code]


def card(text: str) -> bytes:
    return text.ljust(80).encode()


def header(kind: str, numbers: str = "0" * 30) -> bytes:
    return card(f"HEADER RECORD*******{kind:8s}HEADER RECORD!!!!!!!{numbers}")


def field(kind: int, length: int, place: int, name: str) -> bytes:
    """How a transport file describes a column: numbers are of kind 1, words of kind 2."""
    words = name.encode().ljust(8) + b" " * 40 + b" " * 8
    return struct.pack(
        ">hhhh56shhh2s8shhl52s", kind, 0, length, place, words, 0, 0, 0, b"", b"", 0, 0, 0, b""
    )


def test_a_transport_file_of_sas_is_read() -> None:
    date = "01JAN26:00:00:00"
    fields = field(1, 8, 0, "P") + field(2, 3, 8, "Y")
    # Numbers are those of IBM's mainframes: 0.25 and 0.5.
    rows = bytes.fromhex("4040000000000000") + b"no " + bytes.fromhex("4080000000000000") + b"yes"
    content = (
        header("LIBRARY ")
        + card(f"{'SAS':8s}{'SAS':8s}{'SASLIB':8s}{'9.4':8s}{'Linux':8s}{'':24s}{date}")
        + card(date)
        + header("MEMBER  ", "000000000000000001600000000140")
        + header("DSCRPTR ")
        + card(f"{'SAS':8s}{'ROWS':8s}{'SASDATA':8s}{'9.4':8s}{'Linux':8s}{'':24s}{date}")
        + card(date)
        + header("NAMESTR ", f"{2:010d}{0:020d}")
        + fields.ljust(320)
        + header("OBS     ")
        + rows.ljust(80)
    )
    table = read(content)
    assert table.columns == ("P", "Y")
    assert table.frame["P"].tolist() == [0.25, 0.5]
    assert table.frame["Y"].tolist() == ["no", "yes"]


SPARK = pa.struct([("type", pa.int8()), ("values", pa.list_(pa.float64()))])


def parquet(column: pa.Array) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"y": ["no", "yes"], "p": column}), buffer)
    return buffer.getvalue()


STRUCTS = {
    "Spark, Parquet": (
        pa.array([{"type": 1, "values": [0.7, 0.3]}, {"type": 1, "values": [0.2, 0.8]}], SPARK),
        "01",
    ),
    "Spark, sparse, Parquet": (
        pa.array(
            [
                {"type": 0, "size": 2, "indices": [0, 1], "values": [0.7, 0.3]},
                {"type": 1, "size": None, "indices": None, "values": [0.2, 0.8]},
            ]
        ),
        "01",
    ),
    "BigQuery, Parquet": (
        pa.array(
            [
                [{"label": "no", "prob": 0.7}, {"label": "yes", "prob": 0.3}],
                [{"label": "yes", "prob": 0.8}, {"label": "no", "prob": 0.2}],
            ]
        ),
        ("no", "yes"),
    ),
    "Vertex AI, Parquet": (
        pa.array(
            [
                {"scores": [0.7, 0.3], "classes": ["no", "yes"]},
                {"scores": [0.2, 0.8], "classes": ["no", "yes"]},
            ]
        ),
        ("no", "yes"),
    ),
    "fields, Parquet": (
        pa.array([{"no": 0.7, "yes": 0.3}, {"no": 0.2, "yes": 0.8}]),
        ("no", "yes"),
    ),
    "Parquet": (pa.array([[0.7, 0.3], [0.2, 0.8]]), "01"),
}
NESTED = {
    "NumPy": (b"y,p\nno,[0.7  0.3 ]\nyes,[0.2 0.8]\n", "01"),
    "Python": (b'y,p\nno,"[0.7, 0.3]"\nyes,"[0.2, 0.8]"\n', "01"),
    "a dict of Python": (
        b"y,p\nno,\"{'no': 0.7, 'yes': 0.3}\"\nyes,\"{'no': 0.2, 'yes': 0.8}\"\n",
        ("no", "yes"),
    ),
    "Spark": (
        b'{"y":"no","p":{"type":1,"values":[0.7,0.3]}}\n'
        b'{"y":"yes","p":{"type":1,"values":[0.2,0.8]}}\n',
        "01",
    ),
    "Spark, sparse": (
        b'{"y":"no","p":{"type":0,"size":2,"indices":[0,1],"values":[0.7,0.3]}}\n'
        b'{"y":"yes","p":{"type":1,"values":[0.2,0.8]}}\n',
        "01",
    ),
    "Spark, sparse, CSV": (b'y,p\nno,"(2,[0,1],[0.7,0.3])"\nyes,"[0.2,0.8]"\n', "01"),
    **{name: (parquet(column), labels) for name, (column, labels) in STRUCTS.items()},
    "BigQuery": (
        b'{"y":"no","p":[{"label":"no","prob":"0.7"},{"label":"yes","prob":"0.3"}]}\n'
        b'{"y":"yes","p":[{"label":"yes","prob":"0.8"},{"label":"no","prob":"0.2"}]}\n',
        ("no", "yes"),
    ),
    "Vertex AI": (
        b'{"y":"no","p":{"scores":[0.7,0.3],"classes":["no","yes"]}}\n'
        b'{"y":"yes","p":{"scores":[0.2,0.8],"classes":["no","yes"]}}\n',
        ("no", "yes"),
    ),
    "Snowflake": (
        b'y,p\nno,"{""class"":""no"",""probability"":{""no"":0.7,""yes"":0.3}}"\n'
        b'yes,"{""class"":""yes"",""probability"":{""no"":0.2,""yes"":0.8}}"\n',
        ("no", "yes"),
    ),
}


ZERO = {"type": 0, "size": 2, "indices": [1], "values": [1.0]}
UNREAD = {
    "a vector with a place that it does not have": [ZERO | {"indices": [2]}, ZERO],
    "vectors of different lengths": [ZERO, ZERO | {"size": 3}],
    "a vector of very many zeros": [ZERO | {"size": 2**31 - 1}] * 2,
    "pairs with different labels": [
        [{"label": "a", "prob": 0.5}, {"label": "b", "prob": 0.5}],
        [{"label": "a", "prob": 0.5}, {"label": "c", "prob": 0.5}],
    ],
    "a row without probabilities": [{"no": 0.7, "yes": 0.3}, None],
}


@pytest.mark.parametrize("name", UNREAD)
def test_other_values_in_the_cells_of_parquet_are_left_out(name: str) -> None:
    table = read(parquet(pa.array(UNREAD[name])))
    assert table.columns == ("y",)
    assert [note.code for note in table.notes] == ["left-out-columns"]


def test_a_zero_that_a_vector_leaves_out_is_a_column_too() -> None:
    dense = {"type": 1, "size": None, "indices": None, "values": [0.25, 0.75]}
    table = read(parquet(pa.array([ZERO, dense])))
    assert table.frame[["p_0", "p_1"]].to_numpy().tolist() == [[0.0, 1.0], [0.25, 0.75]]


@pytest.mark.parametrize("named", [True, False])
def test_lists_of_cells_are_read_like_a_text(named: bool) -> None:
    rows = [[1, 0.8], [0, 0.3], [1, 0.6], [0, 0.1]]
    table = read(json.dumps([["y", "p"]] * named + rows).encode())
    assert table.columns == (("y", "p") if named else ("column 1", "column 2"))
    assert table.frame.to_numpy().tolist() == rows


def test_a_cell_far_from_the_table_does_not_end_the_program() -> None:
    with pytest.raises(InputError) as refused:
        read(far_cell())
    assert [problem.code for problem in refused.value.problems] == ["too-large"]


@pytest.mark.parametrize("name", NESTED)
def test_probabilities_in_one_cell_become_a_column_per_class(name: str) -> None:
    data, labels = NESTED[name]
    table = read(data)
    assert table.columns == ("y", *(f"p_{label}" for label in labels))
    assert table.frame.iloc[:, 1:].to_numpy().tolist() == [[0.7, 0.3], [0.2, 0.8]]


def test_arrays_in_the_cells_of_a_frame_become_columns() -> None:
    frame = pd.DataFrame({"y": [0, 1], "p": [np.array([0.7, 0.3]), np.array([0.2, 0.8])]})
    assert read(frame).columns == ("y", "p_0", "p_1")


@pytest.mark.parametrize(
    "cells", [("[0.7, 0.3]", "none"), ("[0.7, 0.3]", "[1.0]"), ("[7, 3]", "[2, 8]"), ("[a]", "[b]")]
)
def test_other_cells_in_brackets_stay_text(cells: tuple[str, str]) -> None:
    frame = pd.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "t": cells})
    assert read(frame.to_csv(index=False)).columns == ("y", "p", "t")


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_a_map_from_label_to_probability_has_a_column_per_class(kind: pa.DataType) -> None:
    cells = [
        [("no", 0.75), ("yes", 0.25)],
        [("yes", 0.5), ("no", 0.5)],
        [("no", 0.25), ("yes", 0.75)],
    ]
    maps = pa.array(cells, pa.map_(pa.string(), kind))
    written = io.BytesIO()
    pq.write_table(pa.table({"y": ["no", "yes", "yes"], "p": maps}), written)
    table = read(written.getvalue())
    assert table.columns == ("y", "p_no", "p_yes")
    assert table.frame["p_yes"].tolist() == [0.25, 0.5, 0.75]


def test_a_map_that_lacks_a_class_is_named_and_left_out() -> None:
    for cells in ([[("no", 0.75)], [("yes", 0.5), ("no", 0.5)]], [[("a", "b")], None]):
        kind = pa.map_(pa.string(), pa.float64() if cells[1] else pa.string())
        written = io.BytesIO()
        frame = {"y": [0, 1], "p": [0.1, 0.9], "m": pa.array(cells, kind)}
        pq.write_table(pa.table(frame), written)
        table = read(written.getvalue())
        assert table.columns == ("y", "p")
        assert [(one.code, one.facts["names"]) for one in table.notes] == [
            ("left-out-columns", ["m"])
        ]


def test_weka_writes_numbers_before_labels_and_a_star_at_the_largest_probability() -> None:
    table = read(
        "inst#,actual,predicted,error,distribution,\n1,2:yes,2:yes,,0.133,*0.867\n"
        "2,1:no,2:yes,+,0.265,*0.735\n3,1:?,1:no,,*0.9,0.1\n"
    )
    assert [note.code for note in table.notes] == ["weka"]
    assert table.columns[4:] == ("distribution_no", "distribution_yes")
    assert table.frame["actual"].tolist()[:2] == ["yes", "no"]
    assert table.frame["actual"].isna().tolist() == [False, False, True]
    assert table.frame["distribution_yes"].tolist() == [0.867, 0.735, 0.1]


RNG = np.random.default_rng(7)
P = RNG.random(400).round(4)
Y = (RNG.random(400) < P).astype(int)


def test_the_score_of_a_list_is_the_probability_of_the_positive_class() -> None:
    lists = [f"[{1 - p:.4f}, {p}]" for p in P]
    rows = pd.DataFrame({"label": Y, "prediction": (P > 0.5).astype(int), "probability": lists})
    found = load(rows.to_csv(index=False), outcome="label")
    assert found.scores.tolist() == P.tolist()
    assert found.outcome.tolist() == Y.tolist()


def test_rows_whose_truth_weka_does_not_know_are_left_out() -> None:
    names = np.array(["1:no", "2:yes"])
    truth = np.where(np.arange(400) % 3, "1:?", names[Y])
    rows = pd.DataFrame({"actual": truth, "predicted": names[(P > 0.5).astype(int)], "p": P})
    text = rows.to_csv(index=False)
    with pytest.warns(InputWarning) as said:
        found = load(text, outcome="actual", score="p")
    assert found.outcome.tolist() == Y[::3].tolist()
    (left_out,) = (one.message.problem for one in said)
    assert (left_out.code, left_out.facts["count"]) == ("left-out", 266)
    with pytest.raises(InputError) as refused:
        load(text, outcome="actual", score="p", strict=True)
    assert "guessed-drop_missing" in {one.code for one in refused.value.problems}


def test_times_of_a_column_called_predicted_are_no_labels_of_weka() -> None:
    table = read("actual,predicted,p\n12:30,12:31,0.2\n11:15,11:10,0.4\n")
    assert table.frame["actual"].tolist() == ["12:30", "11:15"]


def test_characters_without_width_are_left_out_and_a_minus_sign_is_read(texts: Texts) -> None:
    table = read("y,logit\n1,\u200b0.3\n\u200b0,\u22120.5\n")
    assert table.frame["logit"].tolist() == [0.3, -0.5]
    assert table.frame["y"].tolist() == [1, 0]
    texts(table.notes[0].sentence)
