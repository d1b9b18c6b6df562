"""Pictures of the documents: the same bytes each time, and every label whole."""

import pytest

from benchmarks.reproduce import pictures
from benchmarks.reproduce.spline_pictures import compact_logits_chart

EPSILONS = (0.1, 0.01, 0.0001)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    charts = {name: compact_logits_chart(EPSILONS) for name in ("first", "second")}
    pictures.draw(charts, folder)
    return [(folder / f"{name}.svg").read_text() for name in charts]


def test_a_picture_is_drawn_alike_each_time(drawn):
    first, second = drawn
    assert first == second
    assert first.startswith("<svg")


def test_labels_keep_their_digits_and_the_paper_is_white(drawn):
    assert "ε = 0.0001" in drawn[0]
    assert 'height="100%" fill="#FFFFFF"' in drawn[0]


def test_a_picture_too_large_is_refused(monkeypatch, tmp_path, texts):
    monkeypatch.setattr(pictures, "to_file", lambda _: "<svg>" + " " * 150_000)
    with texts.raises(ValueError):
        pictures.draw({"large": compact_logits_chart(EPSILONS)}, tmp_path)
