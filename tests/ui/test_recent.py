"""Recent keeps the last few results, and nothing of work that failed."""

import threading

import pytest

from calib.ui.recent import Recent


def test_a_kept_result_is_not_made_again():
    recent = Recent[int](most=2)
    made = []
    for key in ("a", "b", "a", "c", "a", "b"):
        recent.get_or_make(key, lambda key=key: made.append(key) or 1)
    # b is the one used longest ago when c comes.
    assert made == ["a", "b", "c", "b"]


def test_a_failure_is_not_kept():
    recent = Recent[int](most=2)
    with pytest.raises(ZeroDivisionError):
        recent.get_or_make("a", lambda: 1 // 0)
    assert recent.get_or_make("a", lambda: 7) == 7


def test_a_session_does_not_wait_for_the_work_of_another():
    recent = Recent[int](most=2)
    started, go_on = threading.Event(), threading.Event()

    def slow() -> int:
        started.set()
        assert go_on.wait(10)
        return 1

    thread = threading.Thread(target=recent.get_or_make, args=("slow", slow))
    thread.start()
    assert started.wait(10)
    assert recent.get_or_make("quick", lambda: 2) == 2
    go_on.set()
    thread.join(10)
    assert len(recent) == 2
