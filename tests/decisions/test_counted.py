"""The counts that pages print: of each method by its own outcomes, with costs that follow."""

import numpy as np
import pytest

from calib.analysis.decisions import Costs, decide
from calib.analysis.decisions.counted import counted, counted_decisions, printed_costs, to_digits
from calib.analysis.decisions.curves import ErrorShares, error_shares
from calib.crossfit.fitting import cross_fit
from calib.crossfit.settings import Settings
from calib.figures.live_decisions import decisions_data
from calib.loading.examples import EXAMPLES
from calib.numerics.intervals import Estimate

METHODS = ("uncalibrated", "dirichlet")


@pytest.fixture(scope="module")
def ten_digits():
    """Top labels, which a calibrator changes, and with them how many predictions are right."""
    return cross_fit(EXAMPLES["digits"].load(), Settings(methods=("dirichlet",)))


@pytest.mark.parametrize("costs", [Costs(), Costs(1, 1.5), Costs(5, 1), Costs(1, 20)])
def test_each_method_is_counted_by_its_own_outcomes_at_every_stop(ten_digits, costs):
    table = decide(ten_digits, costs)
    data = decisions_data(ten_digits, table, METHODS)
    now = counted_decisions(table, METHODS)
    rates = {key: ten_digits.cells[key].base_rate for key in METHODS}
    assert abs(rates["dirichlet"] - rates["uncalibrated"]) > 0.01
    for method, key in zip(data["methods"], METHODS, strict=True):
        printed = {
            name: np.array([float(text.replace(",", "")) for text in texts])
            for name, texts in method["printed"].items()
        }
        stop = data["stop"]
        assert printed["flagged"][stop] == now[key].flagged[0]
        assert printed["missed"][stop] == now[key].missed[0]
        exact = error_shares(ten_digits.cells[key], np.array(data["thresholds"]))
        np.testing.assert_allclose(printed["found"], 1000 * exact.detected, atol=0.5 + 1e-6)
        np.testing.assert_allclose(printed["missed"], 1000 * exact.missed, atol=0.5 + 1e-6)
        np.testing.assert_allclose(
            printed["flagged"], printed["found"] + printed["alarms"], rtol=1e-12
        )
        found_and_missed = printed["found"] + printed["missed"]
        np.testing.assert_allclose(found_and_missed, 1000 * rates[key], atol=1.0)
        miss = costs.false_positive * np.array(data["ratios"])
        spent = miss * printed["missed"] + costs.false_positive * printed["alarms"]
        last_digit = [10.0 ** -len(text.partition(".")[2]) for text in method["printed"]["cost"]]
        assert np.all(abs(printed["cost"] - spent) <= 0.5 * np.array(last_digit) + 1e-9)


def of(missed: float, alarms: float, positives: float = 0.3) -> ErrorShares:
    parts = (np.array([share]) for share in (0.5, missed, alarms, positives))
    return ErrorShares(*parts)


def test_the_cost_is_that_of_the_printed_counts():
    # 5 x 27.9 + 87.7 = 227.2, and 5 x 28 + 88 = 228.
    one = counted({"platt": of(0.0279, 0.0877)}, 1000, 5.0, 1.0)["platt"]
    assert (one.missed[0], one.false_alarms[0], one.digits[0]) == (28, 88, 0)
    assert printed_costs([one]) == ([228.0], 0)


def test_counts_have_decimals_where_whole_numbers_would_change_the_cost():
    one = counted({"platt": of(0.0024, 0.05)}, 1000, 100.0, 1.0)["platt"]
    assert (one.missed[0], one.digits[0], one.cost[0]) == (2.4, 1, 290.0)


def test_the_difference_of_printed_costs_is_within_its_interval():
    errors = {"uncalibrated": of(0.0277, 0.0877), "platt": of(0.0274, 0.0882)}
    # The exact change is −1.5 + 0.5, and the whole numbers 28 and 27 would make it −5.
    loose = counted(errors, 1000, 5.0, 1.0)
    assert (loose["platt"].cost - loose["uncalibrated"].cost)[0] == -5.0
    close = counted(errors, 1000, 5.0, 1.0, Estimate(-1.0, -1.5, -0.5))
    assert (close["platt"].cost - close["uncalibrated"].cost)[0] == pytest.approx(-1.0)


def test_halves_are_rounded_to_even_whatever_the_errors_of_rounding():
    assert to_digits(1000 * np.array([265, 267, 269]) / 2000, 0).tolist() == [132, 134, 134]
    assert to_digits(np.array([0.25, 2.675]), np.array([1, 2])).tolist() == [0.2, 2.68]
