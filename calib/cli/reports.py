"""``reports``: what an operator does with saved reports: list, delete, restore, verify, export."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from calib.cli.options import Commands, add_command
from calib.cli.streams import tell
from calib.distribution import pip_install
from calib.text import plural

if TYPE_CHECKING:
    from calib.store import Store, Verification

REPORTS = """examples:
  calib reports list
  calib reports delete ID
  calib reports restore ID
  calib reports verify --export copies/
CALIB_HOME or CALIB_DATABASE_URL names where the reports are kept, as for the dashboard.
"""
DAMAGED = 1


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "reports",
        run_reports,
        help="list, delete, restore, verify and export saved reports",
        description="Manage the reports that were saved in the dashboard. A deleted report can be "
        "restored for 30 days.",
        epilog=REPORTS,
    )
    acts = parser.add_subparsers(dest="act", metavar="ACT", required=True)
    acts.add_parser("list", help="the saved reports, and those that can be restored")
    delete = acts.add_parser("delete", help="delete reports; they can be restored for 30 days")
    delete.add_argument("--for-good", action="store_true", help="remove them permanently, at once")
    restore = acts.add_parser("restore", help="restore deleted reports")
    for changing in (delete, restore):
        changing.add_argument("ids", nargs="+", metavar="ID", help="id of a report")
        changing.add_argument(
            "--by",
            metavar="NAME",
            default="",
            help="name for the log (default: the user who is logged in)",
        )
    acts.add_parser("log", help="who saved, deleted and restored which report")
    verify = acts.add_parser("verify", help="check that every report can be read")
    verify.add_argument(
        "--export",
        metavar="FOLDER",
        help="write every report that can be opened into this folder, as ID.json",
    )


def run_reports(given: argparse.Namespace) -> int:
    if find_spec("sqlalchemy") is None:
        raise ValueError(f"Saved reports need SQLAlchemy: {pip_install('app')}.")
    from calib.store import Store, StoreError

    try:
        with Store.from_environment() as store:
            return _act(store, given)
    except StoreError as error:
        raise ValueError(str(error)) from error


def _act(store: Store, given: argparse.Namespace) -> int:
    if given.act in ("list", "log"):
        for cells in _lines(store, given.act):
            # Titles and names may contain characters that steer a terminal.
            print("\t".join("".join(c if c.isprintable() else " " for c in cell) for cell in cells))
    elif given.act == "verify":
        return _verify(store.export(given.export) if given.export else store.verify())
    else:
        by = given.by or f"the operator ({getpass.getuser()})"
        for report_id in given.ids:
            if given.act == "delete":
                store.delete(report_id, by=by, for_good=given.for_good)
            else:
                store.restore(report_id, by=by)
            print(f"{report_id} {given.act}d")
    return 0


def _lines(store: Store, act: str) -> Iterator[Sequence[str]]:
    from calib.store import moment_words

    if act == "log":
        for line in store.changes():
            yield moment_words(line.moment), line.change, line.report_id, line.person, line.title
        return
    store.sweep()
    for entry in store.list(limit=sys.maxsize):
        yield entry.id, moment_words(entry.saved), entry.owner or entry.author, entry.title
    for deletion in store.resting():
        when = f"deleted {moment_words(deletion.deleted)}"
        yield deletion.report_id, when, deletion.deleted_by, deletion.title


def _verify(verification: Verification) -> int:
    problems = verification.problems
    for problem in problems:
        print(problem)
    damage = plural(len(problems), "problem") if problems else "no damage"
    tell(f"{plural(verification.n_reports, 'report')} read, {damage}.")
    return DAMAGED if problems else 0
