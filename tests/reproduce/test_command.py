"""What the command does where data, a network or a browser are missing."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from benchmarks.reproduce import __main__ as command
from benchmarks.reproduce import ece_blog, sources
from benchmarks.reproduce.published import NO_VALUE, Absent, Measured, Published, Study, load, save


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """Documents in an empty folder, and no reference data."""
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "PAGE", tmp_path / "reproductions.md")
    monkeypatch.setattr(command, "FOLDER", tmp_path / "reproductions")
    monkeypatch.setattr(sources, "DATA", tmp_path / "nowhere")
    return tmp_path


def study(measure) -> Study:
    return Study("thing", "A thing", measure, lambda rows: f"{len(rows)} numbers.")


def test_absent_data_leave_the_documents_as_they_are(elsewhere, capsys):
    kept = elsewhere / "reproductions" / "corp.csv"
    kept.parent.mkdir()
    save((Published("rain, MCB", 0.066, 0.0661, 5e-4, "All rows."),), kept)
    before = kept.read_text()
    (corp,) = command.PAPERS["corp"].STUDIES
    assert command.reproduce(corp) == 0
    assert kept.read_text() == before
    assert "corp: skipped, corp/published.csv is not in ../shared/data" in capsys.readouterr().out


def test_a_number_too_far_off_is_said_and_fails(elsewhere, capsys, texts):
    def measure() -> Measured:
        near = Published("near", 0.5, 0.5004, 5e-4, "")
        return Measured((near, Published("far", 0.5, 0.6, 5e-4, "")))

    (elsewhere / "reproductions").mkdir()
    assert command.reproduce(study(measure)) == 1
    texts.shown(capsys.readouterr().out)


def test_an_unknown_paper_gets_a_sentence(capsys, texts):
    with pytest.raises(SystemExit):
        command.main(["psychic"])
    texts.shown(capsys.readouterr().err)


def test_rows_outlive_their_file(tmp_path):
    alone = Published("ours, alone", NO_VALUE, 0.1, NO_VALUE, "protocol", "note")
    rows = (*ece_blog.measure().rows, alone)
    save(rows, tmp_path / "rows.csv")
    loaded = load(tmp_path / "rows.csv")
    assert list(loaded) == [row.name for row in rows]
    for row in rows:
        assert loaded[row.name].ours == pytest.approx(row.ours, rel=1e-9)
        assert loaded[row.name].holds
    assert np.isnan(loaded["ours, alone"].published)


@pytest.mark.parametrize(
    ("ours", "at_most", "holds"),
    [
        (0.5, False, True),
        (0.51, False, True),
        (0.511, False, False),
        (0.4, False, False),
        (0.4, True, True),
        (0.511, True, False),
    ],
)
def test_what_is_near_enough(ours, at_most, holds):
    assert Published("x", 0.5, ours, 0.01, "", at_most=at_most).holds is holds


def test_openml_stands_in_for_a_missing_file(elsewhere, monkeypatch):
    table = pd.DataFrame({"level": ["low", "high", "low"], "value": [1, 2, 3]})
    answer = SimpleNamespace(data=table, target=pd.Series(["bad", "good", "bad"]))
    monkeypatch.setattr(datasets, "fetch_openml", lambda *_, **__: answer)
    x, y = sources.uci("german")
    assert x.tolist() == [[1.0, 1.0], [0.0, 2.0], [1.0, 3.0]]
    assert y.tolist() == [True, False, True]


def test_no_network_either_is_absence(elsewhere, monkeypatch, texts):
    def fail(*_, **__):
        raise OSError("no route")

    monkeypatch.setattr(datasets, "fetch_openml", fail)
    with texts.raises(Absent):
        sources.uci("german")
