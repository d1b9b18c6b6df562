"""The store of saved reports and monitors, opened once per server."""

from __future__ import annotations

import logging
from datetime import timedelta

import streamlit as st

from calib.store import Store, StoreError, database_url
from calib.ui.session import identity

# A page must not wait long for a server that does not answer.
STORE_TIMEOUT_SECONDS = 4.0
SWEEP_INTERVAL = timedelta(days=1)
log = logging.getLogger(__name__)


@st.cache_resource(show_spinner=False)
def _opened(address: str) -> Store:
    return Store(address, patience=STORE_TIMEOUT_SECONDS)


def opened_store() -> Store:
    """Raises StoreError if the store cannot be reached; the next run tries again."""
    store = _opened(database_url().render_as_string(hide_password=False))
    if not identity.is_read_only():
        _swept(store)
    return store


@st.cache_resource(
    ttl=SWEEP_INTERVAL, show_spinner=False, hash_funcs={Store: lambda store: str(store.url)}
)
def _swept(store: Store) -> None:
    """Remove old deleted reports once per day, starting when reports are first listed."""
    try:
        store.sweep()
    except StoreError:
        log.warning("Deleted reports could not be removed", exc_info=True)
