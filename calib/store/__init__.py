"""The store: saved reports of a team, in a SQLite file or in PostgreSQL.

A program saves a report with `Store.from_environment().save(report)`. A page lists, opens and
deletes reports. A saved report never changes.
"""

from calib.store.engine import StoreError, database_url, place
from calib.store.entries import Change, Deletion, Entry, moment_words
from calib.store.integrity import Verification
from calib.store.monitors import Monitor, MonitorEntry, Monitors
from calib.store.store import Store

__all__ = [
    "Change",
    "Deletion",
    "Entry",
    "Monitor",
    "MonitorEntry",
    "Monitors",
    "Store",
    "StoreError",
    "Verification",
    "database_url",
    "moment_words",
    "place",
]
