"""Memo keeps the last few results of a function, and nothing of work that failed."""

import gc
import threading

import numpy as np
import pytest

from calib.data.predictions import Predictions
from calib.ui.session.memo import Keyed, Memo, Unkeyed


class Result:
    """Frozen results have no equality of their own."""


def test_a_kept_result_is_not_made_again():
    made = []

    def make(key):
        made.append(key)
        return key

    memo = Memo(limit=2)
    for key in ("a", "b", "a", "c", "a", "b"):
        assert memo(make, key) == key
    # When c comes, b has not been used for the longest time.
    assert made == ["a", "b", "c", "b"]
    assert len(memo) == 2


def test_every_function_has_a_bound_of_its_own():
    memo = Memo(limit=3, limits={abs: 1})
    for number in range(5):
        memo(abs, number)
        memo(float, number)
    assert len(memo) == 4


def test_values_count_as_they_are_and_names_of_inputs_too():
    memo = Memo()
    assert memo(pow, 2, 3) == memo(pow, 2, 3)
    assert memo(pow, 2, 4) == 16
    assert memo(int, "11", base=2) == 3
    assert memo(int, "11", base=3) == 4
    assert memo(bool, None) is memo(bool, None) is False
    with pytest.raises(TypeError, match="unhashable"):
        memo(len, [1])


def test_results_count_by_identity_and_are_not_kept_alive():
    memo = Memo()
    one, two = Result(), Result()
    assert memo(id, one) == id(one)
    assert memo(id, two) == id(two)
    assert len(memo) == 2
    del one
    gc.collect()
    memo(abs, 1)
    assert len(memo) == 2


def test_rows_count_by_what_they_hold_and_are_called():
    memo, score = Memo(), np.linspace(0.1, 0.9, 20)
    first, again = (Predictions.from_arrays(np.arange(20) % 2, score) for _ in range(2))
    other = Predictions.from_arrays(np.arange(20) % 2, score[::-1])
    named = Predictions.from_arrays(np.arange(20) % 2, score, name="another name")
    for rows in (first, again, other, named, {"a": first}, {"b": first}, {"a": again}):
        memo(str, rows)
    assert len(memo) == 5


def test_what_is_unkeyed_does_not_count():
    memo, told = Memo(), []

    def make(number, *, tell):
        tell(number)
        return number

    assert memo(Unkeyed(make, tell=told.append), 7) == memo(Unkeyed(make, tell=print), 7) == 7
    assert told == [7]


def test_a_whole_call_is_kept_by_what_stands_beside_it():
    memo, made = Memo(), []

    def make(parts):
        made.append(parts)
        return sum(parts)

    assert memo(Keyed(make, [1, 2]), "three") == memo(Keyed(make, [9, 9]), "three") == 3
    assert made == [[1, 2]]
    assert memo(Keyed(make, [2, 2]), "four") == 4


def test_a_failure_is_not_kept():
    memo = Memo()
    with pytest.raises(ZeroDivisionError):
        memo(divmod, 1, 0)
    assert len(memo) == 0


def test_a_session_does_not_wait_for_the_work_of_another():
    memo = Memo()
    started, go_on = threading.Event(), threading.Event()

    def slow() -> int:
        started.set()
        assert go_on.wait(10)
        return 1

    thread = threading.Thread(target=memo, args=(slow,))
    thread.start()
    assert started.wait(10)
    assert memo(abs, -2) == 2
    go_on.set()
    thread.join(10)
    assert len(memo) == 2
