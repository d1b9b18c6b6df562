"""A log that is dropped on the page is read in a process of its own, which returns the same."""

import gzip
import json

import numpy as np
import pytest

import calib
from calib.features.automate.reading import read_back
from calib.loading import InputError
from calib.loading.reading.apart import FileReader, Limits
from calib.loading.reading.budget import write
from tests.automate import shapes
from tests.automate.shapes import LABELS, shape_a, written
from tests.automate.test_desk import simulated


@pytest.fixture(scope="module")
def reader():
    with FileReader(Limits(), "calib.features.automate.reading", read_back) as opened:
        yield opened


def content(lines):
    return "\n".join(map(json.dumps, lines)).encode()


def check_equal(made, wanted):
    assert [*made.details] == [*wanted.details]
    assert made.frame().equals(wanted.frame())
    np.testing.assert_array_equal(made.unit, wanted.unit)
    assert made.ids == wanted.ids
    assert (made.n_records, made.skipped) == (wanted.n_records, wanted.skipped)
    sentences = [[one.sentence for one in log.notes] for log in (made, wanted)]
    assert sentences[0] == sentences[1]
    for one, other in zip(made.details.values(), wanted.details.values(), strict=True):
        np.testing.assert_array_equal(one.record, other.record)
        np.testing.assert_array_equal(one.answered, other.answered)
        np.testing.assert_array_equal(one.score, other.score)
        assert [note.sentence for note in one.notes] == [note.sentence for note in other.notes]
        for a, b in ((one.predictions, other.predictions), (one.decisions, other.decisions)):
            assert (a is None) == (b is None)
            if a is not None:
                assert a.identity == b.identity


def test_the_process_returns_what_the_library_reads(reader, tmp_path):
    refused = {"team": {"type": "refusal"}, "where": {"type": "box", "top": 0.1}}
    lines = [
        *simulated(40),
        *[{**shape_a(state=f"s{i % 3}"), "labels": LABELS} for i in range(9)],
        {**shape_a(team=(0.1, 0.8, 0.08)), "labels": {"team": "nobody"}},
        {"model": "jev-latest", "answers": refused},
    ]
    made = reader.read(gzip.compress(content(lines)), "answers.jsonl.gz")
    check_equal(made, calib.decisions_log(written(tmp_path, lines)))
    assert made.details["urgent"].decisions.group is not None


def test_labels_may_be_dropped_beside_the_log(reader, tmp_path):
    lines = [shape_a(id="a"), shape_a(0.2, id="b")]
    labels = b"id,urgent,team\nb,false,\na,true,tech\n"
    (tmp_path / "labels.csv").write_bytes(labels)
    wanted = calib.decisions_log(written(tmp_path, lines), tmp_path / "labels.csv")
    check_equal(reader.read(content(lines), "answers.jsonl", others=[labels]), wanted)
    check_equal(reader.read(labels, "answers.jsonl", others=[content(lines)]), wanted)


def test_the_process_says_why_a_log_cannot_be_read(reader):
    for data, code in ((b'{"a": 1}\n{"a": 2}', "no-decisions"), (b"[" * 10**6, "too-deep")):
        with pytest.raises(InputError) as refused:
            reader.read(data, "x.jsonl")
        assert [one.code for one in refused.value.problems] == [code]


def test_records_that_do_not_exist_are_refused(tmp_path):
    log = calib.decisions_log(written(tmp_path, [{**shapes.shape_a(), "labels": LABELS}] * 3))
    table = log.to_arrow()
    ((key, about),) = table.schema.metadata.items()
    for n_records in (2, 10**12):
        changed = json.dumps(json.loads(about) | {"n_records": n_records}).encode()
        with pytest.raises(ValueError, match="n_records"):
            type(log).from_arrow(table.replace_schema_metadata({key: changed}))
    write(log, tmp_path / "log")
    check_equal(read_back(tmp_path / "log"), log)
