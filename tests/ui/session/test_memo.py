"""Memo shares results of equal inputs between sessions, and nothing of work that failed."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from calib.analysis.slices import Slicing, slice_gaps
from calib.data.aggregating import aggregate
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.ui.session import memo as memo_module
from calib.ui.session import turns
from calib.ui.session.memo import KeyedCall, Memo, Results, WithProgress
from calib.ui.session.turns import HEAVY

MB = 2**20


class Result:
    """Frozen results have no equality of their own."""


class Work:
    """Work that reports once and ends when it may; it fails if `error` is set."""

    def __init__(self) -> None:
        self.started, self.go_on = threading.Event(), threading.Event()
        self.error: BaseException | None = None
        self.calls = 0

    def __call__(self, number, *, progress=None):
        self.calls += 1
        if progress is not None:
            progress(0.5, "half")
        self.started.set()
        assert self.go_on.wait(10)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return [number]


@pytest.fixture
def results():
    return Results(64 * MB)


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as executor:
        yield executor


@pytest.fixture(autouse=True)
def fast_checks(monkeypatch):
    monkeypatch.setattr(turns, "QUEUE_CHECK_SECONDS", 0.01)


def megabyte(_number):
    return np.zeros(MB, dtype=np.uint8)


def test_the_result_used_longest_ago_goes_first():
    made = []

    def make(key):
        made.append(key)
        return megabyte(key)

    memo = Memo(Results(2.5 * MB))
    for key in ("a", "b", "a", "c", "a", "b"):
        memo(make, key)
    # When c comes, b has not been used for the longest time.
    assert made == ["a", "b", "c", "b"]
    assert len(memo) == 2


def test_the_bound_is_of_all_sessions_together():
    results = Results(10.5 * MB)
    memos = [Memo(results) for _ in range(6)]
    for number in range(60):
        memos[number % 6](megabyte, number)
        assert sum(map(len, memos)) <= 10
    assert sum(map(len, memos)) == len(results.by_key) == 10
    # A number takes little memory, and yet a million of them must not stay.
    small = Memo(Results(MB))
    for number in range(1000):
        small(str, number)
    assert 100 < len(small) < 300


def test_memory_that_results_have_in_common_counts_once():
    memo, common = Memo(Results(2.5 * MB)), megabyte(0)
    for number in range(20):
        memo(KeyedCall(lambda i: (common[i:], [common]), number), number)
    assert len(memo) == 20


def test_the_count_of_memory_is_that_of_the_results_that_are_left():
    results, rng = Results(20 * MB), np.random.default_rng(0)
    sizes = rng.integers(1, 3 * MB, 500).tolist()
    for first in range(0, 500, 50):
        memo = Memo(results)
        for number, size in enumerate(sizes[first : first + 50]):
            memo(KeyedCall(np.zeros, size, np.uint8), first + number)
            left = [len(one.value) for one in results.by_key.values()]
            assert sum(left) <= results.n_bytes <= sum(left) + 2**12 * len(left)
            assert results.n_bytes <= results.limit


@pytest.mark.parametrize(
    "hide",
    [
        lambda array: {"a": [array[3:]]},
        lambda array: lambda: array,
        lambda array: bytes(array),
        lambda array: Predictions.from_arrays([0, 1], [0.2, 0.7], columns={"a": array[:2]}),
    ],
)
def test_memory_inside_a_result_counts(hide):
    memo = Memo(Results(2.5 * MB))
    for number in range(5):
        memo(KeyedCall(lambda: (megabyte(0), hide(megabyte(0)))), number)
    assert len(memo) == (2 if isinstance(hide(megabyte(0)), Predictions) else 1)


def test_a_process_that_holds_too_much_frees_old_results(monkeypatch):
    results, resident, now = Results(100 * MB, 500 * MB), [500 * MB], [0.0]
    monkeypatch.setattr(memo_module, "resident_bytes", lambda: resident[0])
    monkeypatch.setattr(memo_module.time, "monotonic", lambda: now[0])
    memo = Memo(results)

    def numbers():
        return [number for _, (number, *_) in memo.held]

    for number in range(10):
        now[0] += 10.0
        memo(megabyte, number)
    assert len(memo) == 10
    # It holds three results too much, each of a little more than a megabyte.
    resident[0] += 3 * MB
    memo(megabyte, 10)
    assert numbers() == [*range(3, 11)]
    # Results of the last minute stay, because a page would compute them again at once.
    resident[0] += 1000 * MB
    now[0] += memo_module.KEPT_SECONDS - 5.0
    memo(megabyte, 11)
    assert numbers() == [9, 10, 11]
    now[0] += 10.0
    memo(megabyte, 12)
    assert numbers() == [11, 12]


def test_a_result_that_is_too_large_is_kept_until_the_next():
    memo = Memo(Results(MB / 2))
    assert memo(megabyte, 1) is memo(megabyte, 1)
    memo(megabyte, 2)
    assert len(memo) == 1


def test_sessions_share_a_result_and_the_last_one_frees_it(results):
    one, two = Memo(results), Memo(results)
    value = one(KeyedCall(Result), "key")
    assert two(KeyedCall(Result), "key") is value
    there = weakref.ref(value)
    del value, one
    gc.collect()
    assert there() is two(KeyedCall(Result), "key")
    del two
    gc.collect()
    assert there() is None
    assert not results.by_key


def test_what_a_source_answers_is_not_shared(results):
    one, two = Memo(results), Memo(results)
    assert one.private(KeyedCall(Result), "key") is one.private(KeyedCall(Result), "key")
    assert one.private(KeyedCall(Result), "key") is not two.private(KeyedCall(Result), "key")


def test_data_that_differ_in_one_cell_of_an_unused_column_share_nothing(results):
    score, unused = np.linspace(0.1, 0.9, 20), np.array(["a"] * 20, dtype=object)
    changed = unused.copy()
    changed[19] = "b"

    def rows(column):
        return Predictions.from_arrays(np.arange(20) % 2, score, columns={"unused": column})

    first, again, other = (rows(column) for column in (unused, unused.copy(), changed))
    memo = Memo(results)
    assert memo(str, first) is Memo(results)(str, again)
    memo(str, other)
    assert len(memo) == 2


def test_counts_with_the_fingerprint_of_rows_are_not_those_rows(results):
    rows = Predictions.from_arrays([0, 1] * 5, np.linspace(0.1, 0.9, 10))
    counts, others = aggregate(rows), aggregate(rows)
    assert rows.fingerprint == counts.fingerprint == others.fingerprint
    memo = Memo(results)
    for data in (rows, counts, others):
        memo(str, data)
    assert len(memo) == 3


def test_values_count_as_they_are_and_names_of_inputs_too(results):
    memo = Memo(results)
    assert memo(pow, 2, 3) == memo(pow, 2, 3)
    assert memo(pow, 2, 4) == 16
    assert memo(int, "11", base=2) == 3
    assert memo(int, "11", base=3) == 4
    assert memo(bool, None) is memo(bool, None) is False
    with pytest.raises(TypeError, match="unhashable"):
        memo(len, [1])


def test_inputs_count_by_identity_and_are_not_kept_alive(results):
    memo = Memo(results)
    one, two = Result(), Result()
    assert memo(id, one) == id(one)
    assert memo(id, two) == id(two)
    assert len(memo) == 2
    del one
    gc.collect()
    memo(abs, 1)
    assert len(memo) == 2


def test_read_only_arrays_count_by_identity_and_are_not_kept_alive(results):
    memo = Memo(results)
    one, equal = np.linspace(0, 1, 5), np.linspace(0, 1, 5)
    with pytest.raises(TypeError, match="unhashable"):
        memo(np.sum, one)
    for array in (one, equal):
        array.setflags(write=False)
        assert memo(np.copy, array) is memo(np.copy, array)
    assert len(memo) == 2
    del one, array, equal
    gc.collect()
    memo(abs, 1)
    assert len(memo) == 1


def test_a_function_of_the_library_has_one_result_by_its_inputs(results):
    memo, score = Memo(results), np.linspace(0.1, 0.9, 20)
    view = BinaryView(np.arange(20) % 2 == 0, score)
    whole = Slicing.whole(20)
    first = memo(slice_gaps, view, view.score, whole, confidence_level=0.9)
    assert memo(slice_gaps, view, view.score, whole, confidence_level=0.9) is first
    assert memo.heavy(slice_gaps, view, view.score, whole, confidence_level=0.9) is first
    assert memo(slice_gaps, view, view.score, whole, confidence_level=0.8) is not first


def test_rows_count_by_what_they_hold_and_are_called(results):
    memo, score = Memo(results), np.linspace(0.1, 0.9, 20)
    first, again = (Predictions.from_arrays(np.arange(20) % 2, score) for _ in range(2))
    other = Predictions.from_arrays(np.arange(20) % 2, score[::-1])
    named = Predictions.from_arrays(np.arange(20) % 2, score, name="another name")
    for rows in (first, again, other, named, {"a": first}, {"b": first}, {"a": again}):
        memo(str, rows)
    assert len(memo) == 5


def test_what_is_unkeyed_does_not_count(results):
    memo, told = Memo(results), []

    def make(number, *, tell):
        tell(number)
        return number

    assert (
        memo(WithProgress(make, tell=told.append), 7)
        == memo(WithProgress(make, tell=print), 7)
        == 7
    )
    assert told == [7]


def test_a_whole_call_is_kept_by_what_stands_beside_it(results):
    memo, made = Memo(results), []

    def make(parts):
        made.append(parts)
        return sum(parts)

    assert memo(KeyedCall(make, [1, 2]), "three") == memo(KeyedCall(make, [9, 9]), "three") == 3
    assert made == [[1, 2]]
    assert memo(KeyedCall(make, [2, 2]), "four") == 4


def test_a_failure_is_not_kept(results):
    memo = Memo(results)
    with pytest.raises(ZeroDivisionError):
        memo(divmod, 1, 0)
    assert len(memo) == 0
    assert not results.computing


def test_a_session_does_not_wait_for_other_work(results, pool):
    memo, work = Memo(results), Work()
    slow = pool.submit(memo, work, 1)
    assert work.started.wait(10)
    assert Memo(results)(abs, -2) == 2
    work.go_on.set()
    assert slow.result(10) == [1]


def test_ten_sessions_wait_for_the_one_that_computes(results):
    work, said = Work(), []
    memos = [Memo(results) for _ in range(10)]

    def ask(memo):
        return memo.heavy(WithProgress(work, progress=lambda *given: said.append(given)), 1)

    with ThreadPoolExecutor(10) as pool:
        first = pool.submit(ask, memos[0])
        assert work.started.wait(10)
        others = [pool.submit(ask, memo) for memo in memos[1:]]
        while len(said) < 30:
            assert not any(other.done() for other in others)
        # Only the one that computes has a turn.
        assert len(HEAVY) == 1
        work.go_on.set()
        values = [asked.result(10) for asked in (first, *others)]
    assert work.calls == 1
    assert all(value is values[0] for value in values)
    # Those who wait see the progress of the one who computes.
    assert set(said) == {(0.5, "half")}


def test_who_gives_up_waiting_cancels_nothing(results, pool):
    work, one, two = Work(), Memo(results), Memo(results)
    first = pool.submit(one, work, 1)
    assert work.started.wait(10)

    def leave(_share, _text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        two(WithProgress(work, progress=leave), 1)
    assert not first.done()
    work.go_on.set()
    assert first.result(10) == [1]
    assert work.calls == 1
    assert two(work, 1) is first.result()


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_who_waits_computes_it_if_the_first_fails_or_leaves(results, pool, error):
    work, waiting = Work(), threading.Event()
    work.error = error
    first = pool.submit(Memo(results), work, 1)
    assert work.started.wait(10)
    memo = Memo(results)
    second = pool.submit(memo, WithProgress(work, progress=lambda *_: waiting.set()), 1)
    assert waiting.wait(10)
    work.go_on.set()
    with pytest.raises(type(error)):
        first.result(10)
    assert second.result(10) == [1]
    assert work.calls == 2
    assert len(memo) == 1


def test_who_has_a_turn_does_not_wait(results, pool):
    """Else one who holds the only turn could wait for one who needs it."""
    work = Work()
    first = pool.submit(Memo(results), work, 1)
    assert work.started.wait(10)
    work.go_on.set()
    first.result(10)
    work.go_on.clear()
    blocked = pool.submit(Memo(results), work, 2)
    while work.calls < 2:
        assert not blocked.done()

    def within():
        with HEAVY.turn():
            return Memo(results)(work, 2)

    second = pool.submit(within)
    while work.calls < 3:
        assert not second.done()
    work.go_on.set()
    assert blocked.result(10) == second.result(10) == [2]
    assert not results.computing
