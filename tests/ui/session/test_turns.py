"""Turns: a fair line, places that are shown, and waiting that can be given up."""

import threading
import time

import pytest

from calib.ui.session import turns as module
from calib.ui.session.turns import Turns, waiting


class Slot:
    """A place on the page, whose text is given to a function."""

    def __init__(self, show=lambda _text: None):
        self.show = show

    def info(self, text, **_look):
        self.show(text)

    def empty(self):
        """Nothing is left to take away."""


def test_turns_come_in_the_order_of_arrival(monkeypatch) -> None:
    monkeypatch.setattr(module.st, "empty", Slot)
    turns, had, started = Turns(1), [], threading.Event()
    threads = []

    def work(number: int) -> None:
        with turns.turn():
            had.append(number)
            started.wait(5.0)

    for number in range(5):
        threads.append(threading.Thread(target=work, args=(number,)))
        threads[-1].start()
        while len(turns) <= number:
            time.sleep(0.001)
    started.set()
    for thread in threads:
        thread.join()
    assert had == [0, 1, 2, 3, 4]
    assert len(turns) == 0


def test_at_most_so_many_work_at_once_and_places_are_shown(monkeypatch) -> None:
    turns, release, places = Turns(2), threading.Event(), []

    def hold() -> None:
        with turns.turn():
            release.wait(5.0)

    holders = [threading.Thread(target=hold) for _ in range(2)]
    for thread in holders:
        thread.start()
    while len(turns) < 2:
        time.sleep(0.001)

    def show(text: str) -> None:
        places.append(text)
        release.set()

    monkeypatch.setattr(module.st, "empty", lambda: Slot(show))
    with turns.turn():
        pass
    assert places[0] == waiting(1, 2)
    for thread in holders:
        thread.join()


def test_who_gives_up_leaves_the_line(monkeypatch) -> None:
    turns = Turns(1)

    def give_up(text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.st, "empty", lambda: Slot(give_up))

    release = threading.Event()

    def hold() -> None:
        with turns.turn():
            release.wait(5.0)

    holder = threading.Thread(target=hold)
    holder.start()
    while not len(turns):
        time.sleep(0.001)
    with pytest.raises(KeyboardInterrupt), turns.turn():
        raise AssertionError("It was not its turn.")
    assert len(turns) == 1
    release.set()
    holder.join()
    with turns.turn():
        assert len(turns) == 1


def test_work_within_work_waits_for_no_second_turn() -> None:
    turns, both, done = Turns(2), threading.Barrier(2), []

    def work() -> None:
        with turns.turn():
            both.wait(5.0)
            with turns.turn():
                done.append(len(turns))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5.0)
    assert len(done) == 2
    assert len(turns) == 0


def test_the_place_in_line_is_said_in_words(texts) -> None:
    texts(waiting(1, 2))
    texts.shown(waiting(3, 2))
