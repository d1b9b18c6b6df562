"""Damaged text and archives: rows are not lost without a word that says the place."""

import io
import json
import warnings
import zipfile

import pytest

from calib.loading import InputError, read
from tests.loading.logs import archive, inspect_json, members, stated

N = 40


def lines(mark: str = "", delimiter: str = ",") -> list[str]:
    """A table whose words stand in quotation marks, or not."""
    rows = [("y", "p", "s"), *((i % 2, i / 50, ("north", "south")[i % 3 == 0]) for i in range(N))]
    return [delimiter.join((str(y), str(p), f"{mark}{s}{mark}")) for y, p, s in rows]


def refused(data: str | bytes) -> tuple[str, dict]:
    with pytest.raises(InputError) as caught:
        read(data.encode() if isinstance(data, str) else data, "rows.csv")
    (problem,) = caught.value.problems
    return problem.code, dict(problem.facts)


@pytest.mark.parametrize("delimiter", [",", "\t", ";", " "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_mark_that_is_not_closed_does_not_swallow_lines(delimiter, newline):
    rows = lines('"', delimiter)
    rows[6] = rows[6][:-1]
    if delimiter == " ":
        rows[7] = rows[7].replace('"', "")
        rows[8] = rows[8].replace(' "', " ")
    code, facts = refused(newline.join(rows))
    assert (code, facts["line"]) == ("quotes", 7)


@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_between_two_marks_are_not_one_cell(end):
    rows = lines()
    rows[6], rows[9] = rows[6].replace(",n", ',"n').replace(",s", ',"s'), rows[9] + '"'
    code, facts = refused("\n".join(rows) + end)
    assert (code, facts) == ("quotes", {"line": 7, "n": 4})
    rows = lines()
    for i in (6, 9):
        rows[i] = f'"{rows[i]}'
    assert refused("\n".join(rows) + end) == ("quotes", {"line": 7, "n": 4})


def test_the_line_of_a_mark_that_is_open_to_the_end_is_named():
    rows = lines()
    rows[6] = rows[6].replace(",n", ',"n').replace(",s", ',"s')
    assert refused("\n".join(rows)) == ("quotes", {"line": 7})
    long = lines()
    long[6:6] = ['1,0.5,"' + "x" * 200_000]
    assert refused("\n".join(long))[1]["line"] == 7


def test_a_cell_may_have_lines():
    """Answers of a model have lines; a mark within them is a warning, because no row is lost."""
    rows = [row.replace("north", 'a, "" b\nNo, 0.5, yes\n') for row in lines('"')]
    table = read("\n".join(rows).encode(), "rows.csv")
    assert (len(table.frame), table.notes) == (N, ())
    rows[2] = rows[2].replace('""', "").replace("yes\n", 'said "yes"')
    table = read("\n".join(rows).encode(), "rows.csv")
    assert len(table.frame) == N
    assert [(note.code, note.facts["line"]) for note in table.notes] == [("quotes", 3)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("first", ["utf-8", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("n", [1, 5, 30])
def test_text_that_goes_on_in_another_encoding_is_refused_with_its_line(encoding, first, n):
    """With an even number of bytes above, all was read as UTF-16, and a row as the header."""
    rows = [f"{row}\n" for row in lines()]
    code, facts = refused("".join(rows[:n]).encode(first) + "".join(rows[n:]).encode(encoding))
    assert (code, facts) == ("zero-bytes", {"line": n + 1})


def test_utf_16_may_begin_with_any_letters():
    for name in ("海上", "y", "上,s"):
        text = "".join(f"{row}\n" for row in [f"{name},p,s", *lines()[1:]])
        for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
            assert len(read(text.encode(encoding), "rows.csv").frame) == N


def test_a_key_that_an_object_has_twice_is_refused_with_its_line():
    rows = [json.dumps({"y": i % 2, "p": i / 50, "in": {"a": i}}) for i in range(N)]
    for key, place in (("y", '"y"'), ("a", '{"a"')):
        twice = rows.copy()
        twice[6] = twice[6].replace(place, f'{place}: 1, "{key}"', 1)
        assert refused("\n".join(twice)) == ("repeated-key", {"name": key, "line": 7})
    log = inspect_json([stated(1, 0.9)])
    assert refused(log.replace(b'"id": 1', b'"id": 1, "id": 2'))[0] == "repeated-key"
    assert refused(log[:-1] + b', "status": "error"}')[1]["name"] == "status"


def with_members(*more: str) -> bytes:
    stream = io.BytesIO(archive(members([stated(1, 0.9), stated(2, 0.4, "I")])))
    with zipfile.ZipFile(stream, "a") as packed, warnings.catch_warnings():
        # Python warns of a name that is there already.
        warnings.simplefilter("ignore")
        for name in more:
            packed.writestr(name, json.dumps(stated(1, 0.1)))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("samples/1_epoch_1.json", "members.repeated"),
        ("header.json", "members.repeated"),
        ("../samples/3_epoch_1.json", "members.outside"),
        ("samples\\..\\..\\x.json", "members.outside"),
        ("logs/other.eval", "members.archive"),
        ("more.zip", "members.archive"),
    ],
)
def test_members_that_can_be_read_in_two_ways_are_named(name, key):
    with pytest.raises(InputError) as caught:
        read(with_members(name), "run.eval")
    (problem,) = caught.value.problems
    assert (problem.key, problem.facts["member"]) == (key, name)


def test_an_archive_in_an_archive_is_named():
    inner = archive({"rows.csv": "\n".join(lines()).encode()})
    assert len(read(inner, "rows.zip").frame) == N
    assert refused(archive({"rows.zip": inner})) == ("members", {"member": "rows.zip"})
    assert refused(archive({"../rows.csv": b"y,p\n"})) == ("members", {"member": "../rows.csv"})


def test_a_member_whose_name_was_changed_is_not_left_out():
    data = with_members()
    place = data.rindex(b"samples/2_epoch_1.json")
    with pytest.raises(InputError) as caught:
        read(data[:place] + b"sampLes" + data[place + 7 :], "run.eval")
    assert caught.value.problems[0].key == "damaged.eval"
    swapped = members([stated(1, 0.9)])
    names = list(swapped)
    swapped |= dict(zip(names, (swapped[n] for n in reversed(names)), strict=True))
    with pytest.raises(InputError) as caught:
        read(archive(swapped), "run.eval")
    assert caught.value.problems[0].key == "members.other"


def test_one_zero_byte_is_no_other_encoding():
    data = "\n".join(lines()).encode().replace(b"north", b"no\0th", 1)
    with pytest.raises(InputError) as caught:
        read(data)
    assert (caught.value.problems[0].key, caught.value.problems[0].facts["line"]) == (
        "zero-bytes",
        3,
    )
