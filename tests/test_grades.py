"""Grades against published values, and against sums over the binomial distribution."""

import numpy as np
import pytest
from scipy.stats import binom, chi2

from calib.analysis.grades import binomial_p, grades, jeffreys_interval, jeffreys_p
from calib.words.slices import grade_note

# N, D, PD; Jeffreys p, exact p, interval. "= riskvalidation" for the portfolio below.
SINGLE = [
    (1000, 15, 0.01, 0.063228, 0.082412, 0.008795, 0.024000),
    (400, 0, 0.005, 0.954837, 1.0, 0.0, 0.006256),
    (2500, 40, 0.02, 0.927279, 0.937326, 0.011624, 0.021495),
    (120, 9, 0.05, 0.108862, 0.147407, 0.037757, 0.132389),
    (350, 7, 0.01, 0.041515, 0.064320, 0.008989, 0.038864),
    (1, 0, 0.0003, 0.022052, 1.0, 0.0, 0.853254),
]
PD = [0.001, 0.0025, 0.006, 0.015, 0.04, 0.12]
N = [2000, 3500, 4200, 3000, 1400, 400]
D = [3, 6, 31, 52, 49, 61]


def rows(pds=PD, n=N, d=D):
    outcome = np.concatenate([np.arange(a) < b for a, b in zip(n, d, strict=True)])
    return np.repeat([f"G{i}" for i in range(len(n))], n), np.repeat(pds, n), outcome


@pytest.mark.parametrize(("n", "d", "pd", "jeffreys", "exact", "low", "high"), SINGLE)
def test_single_grades(n, d, pd, jeffreys, exact, low, high):
    found = [jeffreys_p(d, n, pd), binomial_p(d, n, pd), *jeffreys_interval(d, n)]
    assert found == pytest.approx([jeffreys, exact, low, high], abs=1e-6)
    # P(X >= d) from its definition.
    assert binomial_p(d, n, pd) == pytest.approx(binom.pmf(np.arange(d, n + 1), n, pd).sum())


def test_portfolio():
    found = grades(*rows())
    jeffreys = [0.220165, 0.822897, 0.125008, 0.146881, 0.829800, 0.025659, 0.104704]
    exact = [0.323324, 0.868581, 0.145272, 0.163980, 0.847225, 0.030264, 0.111376]
    assert found.jeffreys == pytest.approx(jeffreys, abs=1e-6)
    assert found.binomial == pytest.approx(exact, abs=1e-6)
    assert found.pd[-1] == pytest.approx(0.01275517, abs=1e-8)
    assert found.rate[-1] == pytest.approx(0.01393103, abs=1e-8)
    assert found.lights == ("green",) * 5 + ("yellow", "green")
    assert found.notes == ()
    assert found.frame().loc["G5", "defaults"] == 61


def test_exposure_is_reported_and_is_no_weight():
    grade, pd, outcome = rows()
    amount = np.where(outcome, 1000.0, 1.0)
    found, plain = grades(grade, pd, outcome, exposure=amount), grades(grade, pd, outcome)
    assert found.exposure[[0, -1]] == pytest.approx([1997 + 3000, amount.sum()])
    np.testing.assert_array_equal(found.jeffreys, plain.jeffreys)
    assert plain.exposure is None


def test_bad_input_has_a_note_and_the_table_stands(texts):
    grade, pd, outcome = rows()
    order = ("G0", "G1", "G3", "G2", "missing", "G4", "G5")
    pd = pd.copy()
    pd[0] = 0.0005
    found = grades(grade, pd, outcome, order=order)
    assert [(note.kind, note.grades) for note in found.notes] == [
        ("no-rows", ("missing",)),
        ("order", ("G3", "G2")),
        ("pd-varies", ("G0",)),
    ]
    assert found.notes[2].numbers == (0.0005, 0.001)
    assert len(found.frame()) == 7
    texts("\n".join(map(grade_note, found.notes)))


def test_a_portfolio_without_defaults(texts):
    found = grades(*rows([0.0003, 0.01], [1, 400], [0, 0]))
    assert [note.kind for note in found.notes] == ["no-defaults", "no-evidence"]
    assert found.notes[1].grades == ("G0",)
    texts("\n".join(map(grade_note, found.notes)))
    assert found.binomial.tolist() == [1.0, 1.0, 1.0]
    # Without defaults, p is about P(chi-square <= 2 N PD).
    assert found.jeffreys[0] == pytest.approx(chi2.cdf(2 * 0.0003, 1), rel=0.15)


def test_what_is_refused(texts):
    grade, pd, outcome = rows()
    with texts.raises(ValueError):
        grades(grade, pd, outcome, order=("G0",))
    with texts.raises(ValueError):
        grades(grade, pd, outcome, exposure=np.full(len(pd), np.nan))
