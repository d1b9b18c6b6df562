"""``reports``: what an operator does with saved reports: list, delete, restore, verify, export."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from calib.cli.streams import tell
from calib.distribution import pip_install
from calib.text import plural

if TYPE_CHECKING:
    from calib.store import Store

DAMAGED = 1


@contextmanager
def opened_store(what: str = "Saved reports") -> Iterator[Store]:
    """The store of reports and monitors. A problem with it is an error of the input."""
    if find_spec("sqlalchemy") is None:
        raise ValueError(f"{what} need SQLAlchemy: {pip_install('app')}.")
    from calib.store import Store, StoreError

    try:
        with Store.from_environment() as store:
            yield store
    except StoreError as error:
        raise ValueError(str(error)) from error


def person(by: str) -> str:
    """The name for the log."""
    return by or f"the operator ({getpass.getuser()})"


def printable(text: str) -> str:
    """The text without characters that steer a terminal, which titles and names may contain."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def delete(store: Store, ids: Sequence[str], by: str, *, for_good: bool) -> int:
    """Delete reports."""
    for report_id in ids:
        store.delete(report_id, by=person(by), for_good=for_good)
        print(f"{report_id} deleted")
    return 0


def restore(store: Store, ids: Sequence[str], by: str) -> int:
    """Restore deleted reports."""
    for report_id in ids:
        store.restore(report_id, by=person(by))
        print(f"{report_id} restored")
    return 0


def _show(lines: Iterable[Sequence[str]]) -> int:
    for cells in lines:
        print("\t".join(map(printable, cells)))
    return 0


def show_log(store: Store) -> int:
    """Print who changed which report."""
    from calib.store import moment_words

    return _show(
        (moment_words(line.moment), line.change, line.report_id, line.person, line.title)
        for line in store.changes()
    )


def show_saved(store: Store) -> int:
    """Print the saved reports, and those that can be restored."""
    return _show(_saved(store))


def _saved(store: Store) -> Iterator[Sequence[str]]:
    from calib.store import moment_words

    store.sweep()
    for entry in store.list(limit=sys.maxsize):
        yield entry.id, moment_words(entry.saved), entry.owner or entry.author, entry.title
    for deletion in store.resting():
        when = f"deleted {moment_words(deletion.deleted)}"
        yield deletion.report_id, when, deletion.deleted_by, deletion.title


def verify_all(store: Store, folder: str | None) -> int:
    """Print which reports are damaged, and export the others."""
    verification = store.verify() if folder is None else store.export(folder)
    problems = verification.problems
    for problem in problems:
        print(problem)
    damage = plural(len(problems), "problem") if problems else "no damage"
    tell(f"{plural(verification.n_reports, 'report')} read, {damage}.")
    return DAMAGED if problems else 0
