"""Every exhibit opens what it promises, and numbers come from the reproductions' files."""

import re
from html import escape

import pytest

from calib.ui.pages import gallery
from calib.ui.pages.gallery import ENTRIES
from calib.ui.session.choices import VIEW
from calib.ui.session.links import decode, encode
from tests.pages.harness import drawings, press, rows, session_of, start
from tests.rare import common_first

OPENINGS = tuple(opening for entry in ENTRIES for opening in entry.openings)


@pytest.mark.parametrize(
    "opening",
    common_first(OPENINGS, [one for one in OPENINGS if one.key == "corp"]),
    ids=[opening.key for opening in OPENINGS],
)
def test_an_exhibit_opens_its_example_with_its_settings(opening):
    app = press(start("Gallery"), f"open_{opening.key}")
    assert not app.error
    assert not app.warning
    session = session_of(app)
    assert session.page == opening.page
    assert session.example == opening.link.example
    # A link without a view takes that of its data.
    chosen = opening.link.chosen
    assert session.chosen == chosen.having(VIEW, chosen[VIEW] or session[VIEW])


@pytest.mark.parametrize("opening", OPENINGS, ids=[opening.key for opening in OPENINGS])
def test_what_is_opened_can_be_sent_as_a_link(opening):
    link, refused = decode(encode(opening.link))
    assert not refused
    assert link == opening.link


def test_a_file_is_said_to_be_put_aside(texts):
    app = start("Gallery", rows())
    texts.shown([caption.value for caption in app.caption])
    assert session_of(press(app, "open_corp")).upload is None


def test_every_exhibit_shows_numbers_and_a_picture_of_the_repository():
    app = start("Gallery")
    files = [name for entry in ENTRIES for name in entry.numbers]
    for entry in ENTRIES:
        (shown,) = [one for one in drawings(app) if f'aria-label="{escape(entry.alt)}"' in one]
        # The page has the font and the colours of the text.
        assert "<style>" not in shown
        texts_of = re.compile("<text[^>]*>([^<]*)")
        file = (gallery.FOLDER / f"{entry.picture}.svg").read_text()
        assert texts_of.findall(shown) == texts_of.findall(file)
    published = app.dataframe[files.index("splinecalib_table1")].value.set_index("Number")
    assert published.loc["uncalibrated", "Published"].startswith("0.7448")


def test_the_heading_counts_the_numbers_that_agree(tmp_path):
    assert gallery.heading(tmp_path) == "Published results, reproduced"
    lines = [
        "name,published,ours,tolerance,protocol,note,digits,at_most",
        "near,0.5,0.51,0.02,,,2,False",
        "a lower loss,0.5,0.3,0.02,,,2,True",
        "without tolerance,0.5,0.9,,,,2,False",
        "not published,,0.9,,,,2,False",
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert gallery.heading(tmp_path).startswith("All 2 published numbers")
    (tmp_path / "b.csv").write_text("\n".join([lines[0], "far,0.5,0.53,0.02,,,2,False"]))
    assert gallery.heading(tmp_path).startswith("2 of 3 published numbers")


def test_an_installed_package_has_no_pictures_and_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(gallery, "FOLDER", tmp_path)
    app = start("Gallery")
    assert not app.dataframe
    assert sum("repository" in caption.value for caption in app.caption) == len(ENTRIES)
