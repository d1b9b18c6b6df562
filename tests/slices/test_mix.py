"""The mix of slices against published intervals and rows counted by hand."""

import numpy as np
import pandas as pd
import pytest

from calib.analysis.slices import Slicing, slice_mix
from calib.numerics.intervals import wilson_interval


def of_counts(a: int, m: int, b: int, n: int):
    """A slice with a of m rows inside and b of n outside."""
    codes = np.concatenate([np.arange(m) < a, np.arange(n) < b]).astype(int)
    return Slicing(("x",), ("other", "slice"), codes), np.arange(m + n) < m


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((6, 7, 2, 7), 0.0582, 0.8062),
        ((5, 56, 0, 29), -0.0381, 0.1926),
        ((0, 10, 0, 20), -0.1611, 0.2775),
        ((10, 10, 0, 10), 0.6075, 1.0000),
    ],
)
def test_the_intervals_are_those_of_newcombe_1998_table_2_method_10(counts, low, high):
    mix = slice_mix(*of_counts(*counts))
    assert mix.low[1] == pytest.approx(low, abs=5e-5)
    assert mix.high[1] == pytest.approx(high, abs=5e-5)


def test_shares_are_those_of_a_crosstab_and_sorted_by_difference():
    rng = np.random.default_rng(0)
    codes, inside = rng.integers(0, 4, 500), rng.random(500) < 0.3
    weight = rng.uniform(0.5, 2, 500)
    mix = slice_mix(Slicing(("x",), tuple("abcd"), codes), inside, weight)
    table = pd.crosstab(codes, inside, values=weight, aggfunc="sum", normalize="columns")
    np.testing.assert_allclose(mix.inside, table[True])
    np.testing.assert_allclose(mix.outside, table[False])
    counts = pd.crosstab(codes, inside)
    assert mix.rows_inside.tolist() == counts[True].tolist()
    assert mix.rows_outside.tolist() == counts[False].tolist()
    frame = mix.frame()
    assert frame["difference"].abs().is_monotonic_decreasing
    np.testing.assert_allclose(frame["difference"], frame["inside"] - frame["outside"])


def test_equal_weights_change_nothing_and_unequal_ones_widen():
    cut, inside = of_counts(30, 70, 40, 80)
    plain = slice_mix(cut, inside)
    same = slice_mix(cut, inside, np.full(150, 3.0))
    np.testing.assert_allclose(same.low, plain.low)
    uneven = slice_mix(cut, inside, np.tile([0.2, 1.8], 75))
    assert np.all(uneven.high - uneven.low > plain.high - plain.low)


@pytest.mark.parametrize("inside", [np.ones(5, bool), np.zeros(5, bool)])
def test_there_must_be_a_rest(inside, texts):
    with texts.raises(ValueError):
        slice_mix(Slicing.whole(5), inside)


def test_copies_that_are_named_as_clusters_carry_no_more_evidence():
    rng = np.random.default_rng(1)
    codes, inside, weight = rng.integers(0, 4, 600), rng.random(600) < 0.4, rng.uniform(1, 2, 600)
    five = np.repeat(np.arange(600), 5)
    one = slice_mix(Slicing(("x",), tuple("abcd"), codes), inside, weight)
    copied = Slicing(("x",), tuple("abcd"), codes[five])
    by_cluster = slice_mix(copied, inside[five], weight[five], five)
    np.testing.assert_allclose(by_cluster.high - by_cluster.low, one.high - one.low, rtol=0.03)
    bold = slice_mix(copied, inside[five], weight[five])
    np.testing.assert_allclose(bold.high - bold.low, (one.high - one.low) / np.sqrt(5), rtol=0.03)


def test_the_design_effect_of_a_share_is_that_of_its_clusters_by_hand():
    """Clusters of unlike sizes and weights, each wholly inside or outside."""
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(9), [3, 9, 1, 4, 6, 2, 8, 5, 7])
    codes = np.where(rng.random(45) < 0.6, group % 3, rng.integers(0, 3, 45))
    weight = rng.uniform(0.5, 2.0, 45)
    mix = slice_mix(Slicing(("x",), tuple("abc"), codes), group < 4, weight, group)
    sides = []
    for rows in (group < 4, group >= 4):
        w, of = weight[rows], group[rows]
        n, bounds = len(set(of)), []
        for k in range(3):
            member = (codes[rows] == k).astype(float)
            share = w @ member / w.sum()
            contributions = w * (member - share)
            by_cluster = sum(contributions[of == g].sum() ** 2 for g in set(of)) * n / (n - 1)
            effect = max(1.0, by_cluster / (contributions @ contributions))
            effective = w.sum() ** 2 / (w @ w) / effect
            low, high = wilson_interval(np.array([share]), np.array([effective]), 0.95)
            bounds.append((share, low[0], high[0]))
        sides.append(np.array(bounds).T)
    (here, low, high), (there, least, most) = sides
    np.testing.assert_allclose(mix.low, here - there - np.hypot(here - low, most - there))
    np.testing.assert_allclose(mix.high, here - there + np.hypot(high - here, there - least))


def test_a_single_cluster_shows_no_spread_of_its_own():
    cut, inside = of_counts(30, 70, 40, 80)
    one = slice_mix(cut, inside, group=np.where(inside, 0, 1))
    np.testing.assert_allclose(one.low, slice_mix(cut, inside).low)
