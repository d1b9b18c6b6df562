"""Texts that can be read in two ways: right by evidence, or a question; never a silent guess."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest

from calib.loading import Columns, FileFormat, InputError, guess, load, read
from calib.loading.reading.layout import find_header
from tests.assessed import inspect
from tests.golden import Texts

RNG = np.random.default_rng(14)
N = 300
P = RNG.uniform(0.05, 0.95, N).round(4)
Y = (RNG.random(N) < P).astype(int)
NAMELESS = pd.DataFrame({0: Y, 1: P})


def refusal(text: str, **how: object) -> InputError:
    with pytest.raises(InputError) as caught:
        load(text, **how)  # type: ignore[arg-type]
    return caught.value


def same(text: str | bytes, **how: object) -> None:
    found = load(text, **how)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found.outcome, Y)
    np.testing.assert_array_equal(found.scores, P)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("index", [True, False])
def test_columns_without_names_as_pandas_writes_them(delimiter: str, index: bool) -> None:
    same(pd.DataFrame(np.c_[Y, P]).to_csv(index=index, sep=delimiter))


def test_an_index_shows_that_numbers_are_names() -> None:
    same(NAMELESS.to_csv())
    same(NAMELESS.set_axis([f"row {i}" for i in range(N)]).to_csv())


def test_words_below_a_number_show_that_it_is_a_name() -> None:
    same(NAMELESS.replace({0: {0: "no", 1: "yes"}}).to_csv(index=False))


def test_numbers_above_one_over_probabilities_are_names() -> None:
    scores = RNG.dirichlet(np.ones(4), N).round(4)
    text = pd.DataFrame(np.c_[scores], columns=range(4)).assign(y=Y)[["y", 0, 1, 2, 3]]
    named = text.set_axis([str(i) for i in range(5)], axis=1).to_csv(index=False)
    table = read(named)
    assert table.columns == ("0", "1", "2", "3", "4")
    assert len(table) == N


def test_a_first_line_that_may_be_names_or_data_is_asked_about(texts: Texts) -> None:
    text = NAMELESS.to_csv(index=False)
    error = refusal(text)
    (problem,) = error.problems
    assert problem.code == "header"
    assert [dict(choice.arguments) for choice in problem.choices] == [
        {"header": True},
        {"header": False},
    ]
    texts.shown(str(error))
    same(text, header=True)
    as_data = load(text, header=False)
    assert (len(as_data), as_data.outcome[0], as_data.scores[0]) == (N + 1, 0, 1.0)


def test_how_the_text_was_read_is_remembered(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    NAMELESS.to_csv(path, index=False)
    for header in (True, False):
        found = load(path, header=header)
        again = load(path, exact=True, **found.origin.arguments())
        assert again.origin == found.origin
        assert again.fingerprint == found.fingerprint


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ends", [1, 2])
def test_delimiters_at_the_ends_of_rows_shift_no_column(delimiter: str, ends: int) -> None:
    rows = [f"{y},{p},{1 - p:.4f}" + "," * ends for y, p in zip(Y, P, strict=True)]
    text = "\n".join(["y,p_a,p_b", *rows]).replace(",", delimiter)
    same(text, score="p_a")
    np.testing.assert_allclose(load(text, score="p_b").scores, 1 - P)


def test_a_value_behind_the_last_delimiter_is_refused(texts: Texts) -> None:
    rows = [f"{y},{p}," for y, p in zip(Y, P, strict=True)]
    rows[200] += "9"
    with texts.raises(InputError):
        read("\n".join(["y,p", *rows]))


def test_a_header_one_name_short_is_refused_where_no_names_of_rows_stand(texts: Texts) -> None:
    with texts.raises(InputError):
        read("y,p\n" + "".join(f"{y},{p},3\n" for y, p in zip(Y, P, strict=True)))


@pytest.mark.parametrize("place", [0, 1, 150, 299])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("large", [False, True])
def test_a_row_one_cell_too_long_is_refused_wherever_it_stands(
    place: int, header: bool, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{y},{p}" for y, p in zip(Y, P, strict=True)]
    rows[place] = f"0,{rows[place]}"
    text = "\n".join([*(["y,p"] if header else []), *rows])
    if large:
        monkeypatch.setattr("calib.loading.reading.delimited_text.LARGE_TEXT_BYTES", 100)
        monkeypatch.setattr("calib.loading.reading.text_cells.PART_BYTES", 500)
    with warnings.catch_warnings():
        # Most programs do not turn warnings into errors.
        warnings.simplefilter("ignore")
        error = refusal(text)
    assert error.problems[0].code == "ragged"
    assert f"line {place + 1 + header} (3)" in str(error)


@pytest.mark.parametrize("first", ["", ",,,\n", "  ,,\n"])
def test_no_library_warns(first: str) -> None:
    text = "y,p\n" + first + "".join(f"{y},{p}\n" for y, p in zip(Y, P, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(text, drop_missing=True)


# Truth of the weights: 1234, 999, 45 and so on, written with a mark between thousands.
TRUE_WEIGHTS = np.tile([1234.0, 999.0, 45.0], N // 3)


def german(value: float) -> str:
    return str(value).replace(".", ",")


def weighted(weights: list[str], delimiter: str = ",", comma: bool = False) -> str:
    rows = zip(Y, map(german if comma else str, P.tolist()), weights * (N // 3), strict=True)
    plain = [list(map(str, row)) for row in rows]
    return pd.DataFrame(plain, columns=["y", "p", "sample_weight"]).to_csv(
        index=False, sep=delimiter
    )


THOUSANDS = {
    "comma, quoted": (weighted(["1,234", "999", "45"]), "."),
    "semicolon": (weighted(["1,234", "999", "45"], ";"), "."),
    "tab": (weighted(["1,234", "999", "45"], "\t"), "."),
    "German": (weighted(["1.234", "999", "45"], ";", comma=True), ","),
    "German, quoted": (weighted(["1.234", "999", "45"], ",", comma=True), ","),
    "with decimals": (weighted(["1,234.0", "999.0", "45.0"]), "."),
    "German with decimals": (weighted(["1.234,0", "999,0", "45,0"], ";", comma=True), ","),
}


@pytest.mark.parametrize("case", THOUSANDS)
def test_thousands_are_asked_about_and_read_right_when_told(case: str) -> None:
    text, decimal = THOUSANDS[case]
    error = refusal(text)
    assert [problem.code for problem in error.problems] == ["decimal-mark"]
    assert "decimal=','" in str(error)
    assert "decimal='.'" in str(error)
    found = load(text, decimal=decimal)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found.weight, TRUE_WEIGHTS)
    np.testing.assert_array_equal(found.scores, P)
    assert found.origin is not None
    assert found.origin.columns.decimal == decimal


def test_each_answer_is_a_repair_of_the_mapping(texts) -> None:
    table = read(weighted(["1,234", "999", "45"]))
    mapping = guess(table)
    (problem,) = [each for each in inspect(table, mapping) if each.code == "decimal-mark"]
    texts("\n".join([choice.label for choice in problem.choices]))
    for choice in problem.choices:
        repaired = mapping.chosen(**choice.arguments)
        assert "decimal-mark" not in {each.code for each in inspect(table, repaired)}


@pytest.mark.parametrize("kind", ["frame", "parquet", "feather"])
def test_thousands_in_a_column_of_text_are_asked_about(kind: str) -> None:
    weights = np.tile(["1,234", "999", "45"], N // 3)
    frame = pd.DataFrame({"y": Y, "p": P, "sample_weight": weights})
    data: object = frame
    if kind != "frame":
        buffer = io.BytesIO()
        getattr(frame, f"to_{kind}")(buffer)
        data = buffer.getvalue()
    assert refusal(data).problems[0].code == "decimal-mark"  # type: ignore[arg-type]
    found = load(data, decimal=".")  # type: ignore[arg-type]
    np.testing.assert_array_equal(found.weight, TRUE_WEIGHTS)


def test_a_score_with_a_mark_of_two_meanings_is_asked_about() -> None:
    logits = np.where(Y == 1, "1,234", "-2,500")
    text = pd.DataFrame({"y": Y, "logit": logits}).to_csv(index=False, sep=";")
    assert refusal(text, transform="logit").problems[0].code == "decimal-mark"
    found = load(text, transform="logit", decimal=",")
    np.testing.assert_allclose(found.scores, 1 / (1 + np.exp(-np.where(Y == 1, 1.234, -2.5))))


def test_fractions_of_one_meaning_need_no_answer() -> None:
    # Three digits behind each comma, but 0,125 can only be a fraction.
    weights = ["0,125", "1,234", "2,500"]
    found = load(weighted(weights, ";", comma=True))
    np.testing.assert_array_equal(found.weight, np.tile([0.125, 1.234, 2.5], N // 3))
    np.testing.assert_array_equal(found.scores, P)
    found = load(weighted(["0.125", "1.234", "2.500"]))
    np.testing.assert_array_equal(found.weight, np.tile([0.125, 1.234, 2.5], N // 3))


def test_an_unknown_decimal_mark_is_refused(texts: Texts) -> None:
    with texts.raises(ValueError):
        Columns(decimal=";")  # type: ignore[arg-type]
    with texts.raises(ValueError):
        read("y,p\n0,1\n", given=FileFormat(delimiter="||"))
    with texts.raises(ValueError):
        read(b"y,p\n0,1\n", given=FileFormat(encoding="utf-99"))


def test_a_named_encoding_and_delimiter_are_used(texts: Texts) -> None:
    text = "y;p;place\n" + "".join(f"{y};{p};Zürich\n" for y, p in zip(Y, P, strict=True))
    same(text.encode("cp1252"), encoding="cp1252")
    same(text.encode("utf-16"), encoding="cp1252")
    same(text, delimiter=";")
    with texts.raises(InputError):
        read(text.encode("cp1252"), given=FileFormat(encoding="ascii"))


def test_whether_the_first_line_names_the_columns_can_be_certain() -> None:
    assert find_header([["y", "p"], ["0", "0.2"]]) == (True, True)
    assert find_header([["0", "0.1"], ["0", "0.2"]]) == (False, False)
