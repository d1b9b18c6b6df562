"""The first lines of a text: names of columns, titles, comments, units, and data."""

import numpy as np
import pandas as pd
import pytest

from calib.loading import InputError, load, read
from calib.loading.reading.delimited_text import read_anew
from tests.golden import Texts

RNG = np.random.default_rng(5)
N = 60
MATRIX = pd.DataFrame(RNG.dirichlet(np.ones(3), N))
LABELS = RNG.choice(["cat", "dog", "fish"], N)
ROWS = "1,0.3,a\n0,0.2,b\n" * 5


@pytest.mark.parametrize("index", [True, False])
def test_class_numbers_beside_the_name_of_a_column_of_words_are_a_header(index: bool) -> None:
    table = read(MATRIX.assign(y=LABELS).to_csv(index=index))
    assert table.columns[-4:] == ("0", "1", "2", "y")
    assert len(table) == N
    assert not any(guess.argument == "header" for guess in table.guesses)


@pytest.mark.parametrize("first", ["0,1,cat", "0,1,bird", "1,0,cat"])
def test_scores_of_0_and_1_beside_a_label_are_data(first: str) -> None:
    rows = [f"{p:.3f},{1 - p:.3f},{name}" for p, name in zip(RNG.random(N), LABELS, strict=True)]
    rows[5] = "0,1,dog"  # R writes whole numbers among fractions.
    assert len(read("\n".join([first, *rows]))) == N + 1


TOPS = {
    "a title": ("Results of model A\n\n", 4),
    "a padded title": ("Results,,\n", 3),
    "comments": ("# Made by a test\n# on Monday, at noon\n", 4),
    "a comment as wide as a row": ("# made, by, a test\n", 3),
}


@pytest.mark.parametrize("top", TOPS)
def test_lines_above_the_names_are_left_out_and_told(top: str, texts: Texts) -> None:
    lines, first_row = TOPS[top]
    table = read(lines + "y,p,g\n" + ROWS)
    assert table.columns == ("y", "p", "g")
    assert (len(table), table.first_row) == (10, first_row)
    (note,) = table.notes
    assert note.code == "left-out-lines"
    texts(note.sentence)


BELOW = {
    "units": "y,p,g\n(0/1),[%],\n",
    "types": "y,p,g\nint,float,varchar\n",
    "Orange": "y,p,g\nd,continuous,string\nclass,,meta\n",
}


@pytest.mark.parametrize("below", BELOW)
def test_lines_below_the_names_that_describe_columns_are_left_out(below: str) -> None:
    table = read(BELOW[below] + ROWS)
    assert [note.code for note in table.notes] == ["left-out-lines"]
    assert table.columns == ("y", "p", "g")
    assert (len(table), table.first_row) == (10, 1 + BELOW[below].count("\n"))
    assert table.frame["p"].tolist() == [0.3, 0.2] * 5


@pytest.mark.parametrize(
    "text",
    [
        "#y,p,g\n" + ROWS,
        "#id,p,g\n#1,0.3,a\n#2,0.2,b\n",
        "y,p,g\nc,-,a\nd,0.3,b\nc,0.2,a\n",
        "y,p,g\nyes,unknown,a\nno,0.3,b\n",
        '"y" "p" "g"\n"1" 0 0.25 "a"\n"2" 1 0.75 "b"\n',
        ROWS,
    ],
)
def test_names_and_data_stay_what_they_are(text: str) -> None:
    table = read(text)
    assert not table.notes
    assert len(table) == text.count("\n") - (text != ROWS)


def test_comments_above_data_without_names() -> None:
    table = read("# Made by a test\n" + ROWS)
    assert (len(table), table.first_row, table.header) == (10, 2, False)


def test_one_line_of_another_delimiter_is_no_title(texts: Texts) -> None:
    with texts.raises(InputError):
        read("y;p;v;z\n1;0,5;1,10;\n0;0,25;1,1\n")


def test_the_first_line_of_a_table_becomes_data_and_names_again() -> None:
    table = read("1,0.30,a\n0,0.25,b\n", "rows.csv")
    assert table.header is False
    named = read_anew(table, header=True)
    assert named.columns == ("1", "0.30", "a")
    assert (len(named), named.first_row, named.format.header) == (1, 2, True)
    again = read_anew(named, header=False)
    assert again.frame.astype(str).to_numpy().tolist() == [["1", "0.30", "a"], ["0", "0.25", "b"]]
    assert (again.file, again.columns) == ("rows.csv", table.columns)


def test_rows_below_a_title_are_numbered_as_in_the_file(texts: Texts) -> None:
    with texts.raises(InputError):
        load("Results of model A\n\ny,p\n0,0.1\n1,7\n0,0.2\n1,0.9\n")
