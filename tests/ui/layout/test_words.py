"""Words: numbers as they are printed, and text of files that must stay text."""

import math

import pytest

from calib.data.file_options import Columns
from calib.data.origin import Origin
from calib.numerics.intervals import Estimate
from calib.text import JOINER, interval, number, percent, plain, signed
from calib.ui.layout.words import formula, linked, named_folds
from calib.ui.pages.slices.classes import CELL_TEXTS
from calib.ui.session.choices import CHOICES
from calib.words.measures import on_average
from tests.once import analysed


@pytest.mark.parametrize(
    "text", ["![x](http://h/x.png)", "<img src=x>", "[a](b)", ":red[x]", "$x$", "a `b` *c* _d_"]
)
def test_every_character_with_a_meaning_in_markdown_is_escaped(text):
    shown = plain(text)
    assert shown.replace("\\", "").replace(JOINER, "") == text
    for position, character in enumerate(shown):
        if character in "![]()<>*_`:$":
            assert shown[position - 1] == "\\"


def test_a_line_break_cannot_start_a_heading():
    assert "\n" not in plain("a\n# b")


def test_nothing_is_printed_as_nan():
    assert number(math.nan) == "–"
    assert interval(Estimate(0.5)) == ""


def test_signs_are_minus_signs():
    assert signed(-0.1, 1) == "−0.1"
    assert interval(Estimate(0, -0.1, 0.1), 1, sign=True) == "−0.1 to +0.1"


@pytest.mark.parametrize(("share", "said"), [(0, "0.0%"), (0.5, "50.0%"), (0.00012, "0.012%")])
def test_small_shares_keep_their_digits(share, said):
    assert percent(share) == said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("strategy", "uniform", "Uniform bins"),
        ("band", "simultaneous", "Simultaneous band"),
        ("confidence_level", 0.9, "90% intervals"),
        ("methods", ("uncalibrated", "platt"), "2 methods"),
        ("knots", True, "Knots marked"),
        ("n_bins", 20, "20 bins"),
        ("epsilon", 0.001, "ε = 0.001"),
    ],
)
def test_a_chip_says_its_setting(name, value, said):
    assert CHOICES[name].chip_text(value) == said


def test_a_formula_has_the_minus_signs_and_powers_of_the_page():
    analysis = analysed("naive_bayes")
    shown = {key: formula(method).replace("\\", "") for key, method in analysis.methods.items()}
    assert shown["spline"].endswith("ε = 1e-9)")
    assert "exp(−(" in shown["platt"]
    assert "-" not in shown["beta"]


def test_cells_of_the_classes_are_written_as_everywhere():
    assert CELL_TEXTS["bias"](-0.0146) == "−1.5"
    assert [CELL_TEXTS["p_adjusted"](p) for p in (7.7e-5, 0.0304, math.nan)] == [
        "p < 0.001",
        "p = 0.030",
        "–",
    ]


def test_sentences_have_the_noise_floor_and_the_folds(texts):
    said = on_average(Estimate(0.2, noise_floor=0.148))
    texts(said)
    texts(named_folds(Origin(Columns(fold="cv fold"))))
    texts(named_folds(None))


def test_a_number_of_arxiv_is_a_link():
    address = "https://arxiv.org/abs/1706.04599"
    html = linked("Guo & Sun 2017, arXiv:1706.04599")
    assert html == (
        f'Guo &amp; Sun 2017, <a href="{address}" target="_blank" rel="noreferrer">'
        "arXiv:1706.04599</a>"
    )
