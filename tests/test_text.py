"""Numbers, names and lists as text: the edge cases."""

import math
from datetime import datetime

import numpy as np
import pytest

from calib import text
from calib.numerics.intervals import Estimate

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("value", "number", "signed", "significant", "count"),
    [
        (0.0, "0.0000", "0.0000", "0", "0"),
        (-0.0, "0.0000", "0.0000", "0", "0"),
        (-0.00001, "0.0000", "0.0000", "−1e-5", "0.0"),
        (0.00005001, "0.0001", "+0.0001", "5e-5", "0.0"),
        (-0.25, "−0.2500", "−0.2500", "−0.25", "−0.2"),
        (1e-8, "0.0000", "0.0000", "1e-8", "0"),
        (999.96, "999.9600", "+999.9600", "1,000", "1,000.0"),
        (-12345.0, "−12,345.0000", "−12,345.0000", "−12,300", "−12,345"),
        (1e300, None, None, "1e300", None),
        (INF, "∞", "+∞", "∞", "∞"),
        (-INF, "−∞", "−∞", "−∞", "−∞"),
        (NAN, "–", "–", "–", "–"),
    ],
)
def test_a_number(value, number, signed, significant, count):
    shown = {"number": number, "signed": signed, "significant": significant, "count": count}
    for name, expected in shown.items():
        if expected is not None:
            assert getattr(text, name)(value) == expected, name


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (0.0, "p < 0.001"),
        (0.00099999, "p < 0.001"),
        (0.001, "p = 0.001"),
        (0.0304, "p = 0.030"),
        (0.99, "p = 0.990"),
        (0.9901, "p > 0.99"),
        (1.0, "p > 0.99"),
        (NAN, "cannot be estimated"),
    ],
)
def test_a_p_value(p, shown):
    assert text.p_value(p) == shown


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (0.0, "0.0%"),
        (-0.0, "0.0%"),
        (0.00012, "0.012%"),
        (0.000999, "0.1%"),
        (1e-9, "< 0.0001%"),
        (6.2e-9, "< 0.0001%"),
        (0.5, "50.0%"),
        (-0.05, "−5.0%"),
        (1.0, "100.0%"),
        (NAN, "–"),
    ],
)
def test_a_percentage(rate, shown):
    assert text.percent(rate) == shown


@pytest.mark.parametrize(
    ("pair", "shown"),
    [
        ((0.107, 0.232), ("10.7%", "23.2%")),
        ((0.46412, 0.46391), ("46.41%", "46.39%")),
        ((0.5, 0.5), ("50.0%", "50.0%")),
        ((0.0005, 0.0), ("0.05%", "0.0%")),
    ],
)
def test_two_percentages_can_be_told_apart(pair, shown):
    assert text.percents(*pair) == shown


@pytest.mark.parametrize(
    ("share", "shown"), [(0.95, "95%"), (0.999, "99.9%"), (0.57, "57%"), (0.9995, "99.95%")]
)
def test_a_level_is_not_rounded(share, shown):
    assert text.level(share) == shown


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (0.0, "0.000"),
        (0.3517, "0.352"),
        (0.00124, "0.0012"),
        (0.99987, "0.99987"),
        (1.0, "1.000"),
        (5e-324, "0.0000000000000000"),
        (NAN, "–"),
    ],
)
def test_a_probability(p, shown):
    assert text.probability(p) == shown


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((0.3, 0.41), "30% to 41%"),
        ((0.0012, 0.0019), "0.120% to 0.190%"),
        ((0.5, 0.5), "50% to 50%"),
        ((NAN, 0.5), "– to 50%"),
    ],
)
def test_a_range_of_scores(ends, shown):
    assert text.span(*ends) == shown


@pytest.mark.parametrize(
    ("estimate", "bounds", "whole", "decimals"),
    [
        (Estimate(0.5), "", "0.50", 4),
        (Estimate(0.5, 0.4, 0.6), "0.40 to 0.60", "0.50 (0.40 to 0.60)", 2),
        (Estimate(0.0, -0.001, 0.0), "0.00 to 0.00", "0.00 (0.00 to 0.00)", 4),
        (Estimate(0.5, 0.5, 0.5), "0.50 to 0.50", "0.50 (0.50 to 0.50)", 4),
        (Estimate(9.0, -40.0, INF), "−40.00 to ∞", "9.00 (−40.00 to ∞)", 4),
        (Estimate(500.0, 100.0, 900.0), "100.00 to 900.00", "500.00 (100.00 to 900.00)", 0),
        (Estimate(NAN), "", "–", 4),
    ],
)
def test_an_interval_and_its_digits(estimate, bounds, whole, decimals):
    assert text.interval(estimate, 2) == bounds
    assert text.with_interval(estimate, 2) == whole
    assert text.decimals(estimate) == decimals


def test_a_difference_has_its_sign():
    assert text.with_interval(Estimate(-0.1, -0.2, 0.04), 2, sign=True) == "−0.10 (−0.20 to +0.04)"


@pytest.mark.parametrize(
    ("parts", "total", "shown"),
    [
        ([], None, ""),
        (["a"], None, "a"),
        (["a", "b"], None, "a and b"),
        (["a", "b", "c"], None, "a, b and c"),
        (["a", "b"], 2000, "a, b and 1,998 more"),
        (["a", "b"], 2, "a and b"),
    ],
)
def test_a_list(parts, total, shown):
    assert text.joined(parts, total) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [("", "(blank)"), (" \n", "(blank)"), ("a`b", "`a'b`"), ("a\x07b", "`a b`"), (3, "`3`")],
)
def test_a_quotation(value, shown):
    assert text.quoted(value) == shown


@pytest.mark.parametrize(
    ("write", "given", "shown"),
    [
        (text.number, (-1250.5, 1), "−1,250.5"),
        (text.significant, (-2.5e-8, 2), "−2.5e-8"),
        (text.plural, (1, "row"), "1 row"),
        (text.plural, (2000, "row"), "2,000 rows"),
        (text.plural, (2, "class"), "2 classes"),
        (text.listed, (["a", "b", "c"], 2), "`a`, `b` and 1 more"),
        (text.decimals, (Estimate(-0.1002, -0.129, -0.075),), 3),
        (text.decimals, (Estimate(9.0, 5, 12),), 1),
        (text.quoted, ("x" * 99,), f"`{'x' * 59}…`"),
        (text.plain, ("![](x) **b**",), r"\!\[\]\(x\) \*\*b\*\*"),
        (text.plain, ("http://x",), rf"http\:{text.JOINER}//x"),
        (text.sentence, ("Column `a*b` holds 'c*d'.",), r"Column `a*b` holds 'c\*d'\."),
        (text.escaped, ("<b>bold</b> %{x}",), "&lt;b&gt;bold&lt;/b&gt; %&#123;x}"),
        (
            text.shortened,
            ("a name that is longer than an axis is wide",),
            "a name that is longer t…",
        ),
        (
            text.shortened,
            ("a name that is longer than an axis is wide × b",),
            "a name that is long… × b",
        ),
        (
            text.formula,
            ("exp(-(0.5 s - 1.97)) of cross-fitted s, epsilon = 1e-08",),
            "exp(−(0.5 s − 1.97)) of cross-fitted s, epsilon = 1e-8",
        ),
        (text.numbers_of, (["10", "2.5"],), (10.0, 2.5)),
        (text.numbers_of, (["epoch_2.npz", "epoch_10.npz"],), (2.0, 10.0)),
        (text.numbers_of, (["a1", "b2"],), None),
        (text.numbers_of, (["7", "7.0"],), None),
    ],
)
def test_words_and_names(write, given, shown):
    assert write(*given) == shown


def test_a_moment_does_not_follow_the_language_of_the_machine():
    assert text.moment(datetime(2026, 12, 31, 23, 59)) == "31 December 2026, 23:59 UTC"


@pytest.mark.parametrize("shape", [4000, (1000, 4)])
def test_no_array_of_an_exception_is_shown(shape):
    array = np.array2string(np.linspace(-1e-9, 1.0, 4000).reshape(shape), threshold=9999)
    assert text.without_arrays(f"x in [0, 1],\ngot {array}.") == "x in [0, 1], got [...]."


@pytest.mark.parametrize(
    ("before", "after"), [(0.46556, 0.36432), (0.49077, 0.47118), (0.2625, 0.26249), (1.23456, 0.9)]
)
def test_log_losses_have_equal_digits_and_differ_by_the_printed_change(before, after):
    change = Estimate(after - before, after - before - 0.003, after - before + 0.003)
    first, last, difference = text.adding_up(before, after, change)
    assert [len(loss.partition(".")[2]) for loss in (first, last)] == [4, 4]
    printed = float(difference.replace("−", "-"))
    digits = len(difference.partition(".")[2])
    assert printed == pytest.approx(round(float(last) - float(first), digits), abs=1e-12)


@pytest.mark.parametrize("pair", [(1.0, 0.9999999), (0.5, 0.5000001), (0.0, 1e-12)])
def test_rates_that_differ_by_nothing_are_equal(pair):
    first, last = text.percents(*pair)
    assert first == last
    assert len(first) <= len("100.0%")


def test_scores_of_0_and_1_have_no_decimals():
    written = text.score_percents(0.9999999, 1.0, 0.0)
    assert written[1:] == ("100%", "0%")
    assert written[0] != "100%"
