"""Ranks and their tests against Demšar's worked example and SciPy."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import friedmanchisquare

from benchmarks.reproduce.ranks import critical_difference_chart, rank


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    values = np.add(rng.random((14, 4)), [0.0, 0.3, 0.3, 0.6])
    return pd.DataFrame(values, columns=list("abcd"))


def test_friedman_is_scipys(table):
    ranking = rank(table)
    theirs = friedmanchisquare(*table.to_numpy().T)
    assert ranking.friedman == pytest.approx(theirs.statistic)
    assert ranking.p_value == pytest.approx(theirs.pvalue)
    # Tied ranks give the same statistic.
    tied = table.round(0)
    assert rank(tied).friedman == pytest.approx(friedmanchisquare(*tied.to_numpy().T).statistic)


def test_critical_difference_of_demsars_example(table):
    # Demšar 2006, section 3.2.2, has 4 methods on 14 sets: 2.569 sqrt(4 x 5 / (6 x 14)) = 1.25.
    assert rank(table).critical == pytest.approx(1.25, abs=0.005)


def test_groups_are_the_widest_spans_within_the_critical_difference(table):
    ranking = rank(table)
    ranks = sorted(ranking.mean.values())
    spans = ranking.groups()
    assert spans
    for low, high in spans:
        assert high - low <= ranking.critical
        assert not any(low >= a and high <= b for a, b in spans if (a, b) != (low, high))
    # Two methods share a bar if and only if their difference is below the critical one.
    for i, a in enumerate(ranks):
        for b in ranks[i + 1 :]:
            joined = any(low <= a and b <= high for low, high in spans)
            assert joined == (b - a <= ranking.critical)


def test_the_plot_has_every_method_at_its_mean_rank():
    losses = pd.DataFrame({"platt": [1.0, 1.0, 3.0], "beta": [2.0, 3.0, 1.0], "spline": [3, 2, 2]})
    ranking = rank(losses)
    chart = critical_difference_chart({"three": ranking}, {k: k for k in losses})
    drawn = [t["x"][0] for t in chart.spec["data"] if t["mode"] == "markers"]
    assert drawn == list(ranking.mean.values())
