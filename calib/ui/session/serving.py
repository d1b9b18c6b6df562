"""The dashboard as a command: the server, and the data that its operator named."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from calib.data.file_options import LoadOptions
from calib.loading import Columns, FileFormat, InputError, Table, for_test_file, guess, read
from calib.loading.loader import mapping_of
from calib.loading.logs import combined
from calib.ui.session.turns import prepare
from calib.ui.session.upload import Upload

# Its value is JSON: the sources, perhaps a table, and options of `calib.load`.
VARIABLE = "CALIB_SERVE"
# The server answers within this many seconds after its preparations.
STARTUP_SECONDS = 0.2
MAX_STOPPING_SECONDS = 10


def app_file() -> Path:
    """The file of the first page: in calib/ui/app/ if it is installed, else in the checkout."""
    installed = Path(__file__).parents[1] / "app" / "app.py"
    return installed if installed.is_file() else Path(__file__).parents[3] / "app.py"


def configuration(environ: Mapping[str, str]) -> dict[str, Any]:
    """Every option of the app's config.toml, and those that the environment names.

    `streamlit run` looks for them itself. A server that a program starts reads no variables, and
    looks for the file in the working directory, which may be any: without these options it would
    listen on every interface.
    """
    from calib.ui.streamlit_private import options_of_environment

    text = (app_file().parent / ".streamlit" / "config.toml").read_text(encoding="utf-8")
    return _flat(tomllib.loads(text)) | options_of_environment(environ)


def _flat(options: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in options.items():
        nested = isinstance(value, dict)
        flat |= _flat(value, f"{before}{name}.") if nested else {before + name: value}
    return flat


def hold(sources: Sequence[str], table: str | None, options: Mapping[str, Any]) -> Sequence[str]:
    """Open data for every session of this process, and return what their columns were read as.

    Raises InputError if they cannot be read.
    """
    if sources:
        places = [os.path.abspath(source) for source in sources]
        of_server.cache_clear()
        os.environ[VARIABLE] = json.dumps({"sources": places, "table": table, **options})
    upload = of_server() if sources else None
    if upload is None:
        return ()
    prepare(sum(rows.n_rows for rows in upload.models.values()))
    return upload.read_as


@cache
def of_server() -> Upload | None:
    """The data that the operator named, read once; all sessions share them."""
    options = json.loads(os.environ.get(VARIABLE) or "{}")
    sources, table = options.pop("sources", ()), options.pop("table", None)
    return _upload(sources, table, LoadOptions(**options)) if sources else None


def _upload(sources: Sequence[str], table: str | None, options: LoadOptions) -> Upload:
    mapping = mapping_of(options)
    try:
        return _of_rows(sources, table, options, mapping)
    except InputError as error:
        large = any(problem.code == "too-large" for problem in error.problems)
        if not large or len(sources) > 1 or options.test is not None:
            raise
    from calib.scanning.connections import Connection

    # Rows that do not fit in memory are counted in their source.
    source = Connection.of_path(sources[0])
    name = table or source.tables()[0]
    upload = Upload.of_table(source, name, mapping)
    # The pages ask what only a person can know about the columns.
    return upload.with_counts() if upload.is_uncounted else upload


def _of_rows(
    sources: Sequence[str], table: str | None, options: LoadOptions, given: Columns
) -> Upload:
    tables = combined([_table(source, table, options.format()) for source in sources])
    mapping = guess(tables[0], given, models=len(tables) == 1)
    if options.test is not None:
        tables[0] = replace(tables[0], tests=read(options.test, given=options.format()))
    return Upload.of(*tables, mapping=for_test_file(mapping, tables[0].tests, given))


def _table(source: str, table: str | None, written: FileFormat) -> Table:
    from calib.scanning.sources import is_file_of_rows, rows_of

    if is_file_of_rows(source):
        return read(source, given=written)
    return read(*rows_of(source, table))


def serve(
    port: int | None = None, address: str | None = None, hosts: Sequence[str] = (), css: str = ""
) -> None:
    """Run the server until it is stopped; it prints its address.

    Without a port it takes 8501, or the next one that is free; without an address it listens on
    this machine only. `hosts` are additional host names of this server; other names are refused.
    `css` is the look of the pages. Raises ValueError if the sign-in would be none.
    """
    import streamlit as st

    from calib.ui.session import sign_in
    from calib.ui.session.middleware import as_browsers_write, host_names, middleware
    from calib.ui.streamlit_private import load_options

    listens = address and as_browsers_write(address)
    chosen = {"server.port": port, "server.address": listens}
    given = {name: value for name, value in chosen.items() if value is not None}
    options = configuration(os.environ) | given
    known_hosts = [*options.get("server.allowedHosts", ()), *hosts]
    options["server.allowedHosts"] = host_names(options.get("server.address"), known_hosts)
    if listens and ":" in listens and listens != "::":
        # Streamlit prints this address and opens it in a browser, and adds no brackets.
        options.setdefault("browser.serverAddress", f"[{listens}]")
    script = str(app_file())
    # Streamlit takes the program for the script, and looks for files beside it.
    sys.argv = [script]
    app = st.App(script, lifespan=stopping_in_time, middleware=middleware(css))
    load_options(options)
    sign_in.check()
    app.run(config=options)


@asynccontextmanager
async def stopping_in_time(_app: object) -> AsyncIterator[None]:
    """Let a server that is told to stop answer for some seconds, and then close its connections."""
    from calib.ui.streamlit_private import limit_stopping

    limit_stopping(MAX_STOPPING_SECONDS)
    logging.getLogger("uvicorn.error").addFilter(_is_no_closing)
    yield


def _is_no_closing(record: logging.LogRecord) -> bool:
    """Whether a line of the log says more than that a connection was closed at the end."""
    kind = record.exc_info[0] if record.exc_info else None
    closed = kind is not None and issubclass(kind, asyncio.CancelledError)
    return not closed and "CancelledError" not in record.getMessage()


@asynccontextmanager
async def opened(app: object) -> AsyncIterator[None]:
    """Open a browser once the server answers, as `streamlit run` does for a plain script.

    Raises ValueError if the sign-in would be none.
    """
    import streamlit as st

    from calib.ui.session import sign_in
    from calib.ui.streamlit_private import app_url, open_browser

    sign_in.check()
    if not st.get_option("server.headless"):
        asyncio.get_running_loop().call_later(STARTUP_SECONDS, open_browser, app_url())
    async with stopping_in_time(app):
        yield
