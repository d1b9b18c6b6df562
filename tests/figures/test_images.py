"""Charts as images, where a Chrome is installed; else the sentence that says what is missing."""

import struct
from xml.etree import ElementTree

import pytest

from calib.figures import chart as module
from calib.figures.chart import SCALE, images, missing
from tests.figures.drawn import BUILDERS
from tests.rare import common_first, rare

needs_browser = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def charts(analysis):
    return [build(analysis) for build in BUILDERS.values()]


# The browser draws all charts alike, so one is enough here: `make test-all` draws the others.
@rare
@needs_browser
@pytest.mark.parametrize("n", common_first([3, len(BUILDERS)], [3]))
def test_every_chart_becomes_an_image_of_its_size(n, charts):
    messages, charts = [], charts[:n]
    for chart, image in zip(
        charts, images(charts, "svg", lambda _, text: messages.append(text)), strict=True
    ):
        root = ElementTree.fromstring(image)
        assert (root.get("width"), root.get("height")) == (str(chart.width), str(chart.height))
        assert "http" not in {value[:4] for value in root.itertext()}
    assert messages[-1] == f"Drawing chart {len(charts)} of {len(charts)}"


@rare
@needs_browser
def test_png_has_twice_the_pixels(charts):
    (image,) = images(charts[:1], "png")
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    size = (SCALE * charts[0].width, SCALE * charts[0].height)
    assert struct.unpack(">II", image[16:24]) == size


def test_what_is_missing_is_said(charts, monkeypatch, texts):
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with texts.raises(ValueError):
        images(charts[:1], "png")


def test_a_missing_browser_is_said(charts, monkeypatch, texts):
    chromium = pytest.importorskip("choreographer.browsers.chromium")
    monkeypatch.setattr(chromium.Chromium, "find_browser", lambda **_: None)
    with texts.raises(ValueError):
        images(charts[:1], "png")


def test_another_kind_is_refused(charts, texts):
    with texts.raises(ValueError):
        images(charts[:1], "pdf")
