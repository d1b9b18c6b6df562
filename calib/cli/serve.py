"""``serve``: the dashboard on a file."""

from __future__ import annotations

import argparse
from dataclasses import fields
from importlib.util import find_spec

from calib.cli.options import Commands, add_columns, add_command
from calib.cli.predictions import load_arguments, with_options
from calib.cli.streams import tell
from calib.distribution import pip_install
from calib.loading import InputError
from calib.loading.loader import LoadOptions

EXAMPLES = """examples:
  calib serve
  calib serve predictions.parquet --outcome y --score p
  calib serve cal.csv --test test.csv --port 8600
  calib serve scores.duckdb --table scores --outcome y --score p

The data are open in every session: everybody who can open the dashboard sees them. It listens on
this machine only, unless --address is given. Other options of Streamlit are set as environment
variables, such as STREAMLIT_SERVER_MAX_UPLOAD_SIZE. In a checkout of the project,
`streamlit run app.py` opens the dashboard without a file.
"""
MAX_PORT = 65_535
# The Data page asks for these, so the command has no options for them.
ASKED_ON_PAGE = ("strict", "exact", "model_value", "name")


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "serve",
        run,
        help="open the dashboard, on a file if one is named",
        description="Start the dashboard and print its address. Named data open as if they were "
        "dropped on the first page; several files are one model each.",
        epilog=EXAMPLES,
    )
    parser.add_argument(
        "predictions",
        nargs="*",
        metavar="FILE",
        help="file, - for standard input, folder, glob, or DuckDB database",
    )
    parser.add_argument("--table", metavar="NAME", help="table of a DuckDB database")
    add_columns(parser, [f.name for f in fields(LoadOptions) if f.name not in ASKED_ON_PAGE])
    server = parser.add_argument_group("server")
    server.add_argument(
        "--port", type=_port, metavar="NUMBER", help="default: 8501, or the next free port"
    )
    server.add_argument("--address", metavar="NAME", help="default: localhost, this machine only")
    server.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="one more name under which browsers know the server (*.example.org: all below it); "
        "other names are refused",
    )


def run(given: argparse.Namespace) -> int:
    if find_spec("streamlit") is None or find_spec("plotly") is None:
        raise ValueError(f"The dashboard needs more packages: {pip_install('app')}.")
    from calib.ui.layout import style
    from calib.ui.session import serving

    try:
        for line in serving.hold(given.predictions, given.table, load_arguments(given)):
            tell(line)
    except InputError as error:
        raise with_options(error) from None
    try:
        serving.serve(given.port, given.address, given.allow_host, style.css())
    except OSError as error:
        port = "" if given.port is None else f", port {given.port}"
        raise ValueError(
            f"The server cannot listen at {given.address or 'localhost'}{port}: "
            f"{error.strerror or error}. Name another --address or --port."
        ) from error
    return 0


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not 0 <= number <= MAX_PORT:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 0 (any free port) to {MAX_PORT}, got {text!r}."
        )
    return number
