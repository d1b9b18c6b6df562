"""``serve``: the dashboard on a file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from calib.cli.predictions import with_options
from calib.cli.streams import tell
from calib.distribution import pip_install
from calib.loading import InputError


def serve_data(
    sources: Sequence[str],
    table: str | None,
    arguments: dict[str, Any],
    port: int | None,
    address: str | None,
    hosts: Sequence[str],
) -> int:
    """Serve the dashboard until a person ends it."""
    if find_spec("streamlit") is None or find_spec("plotly") is None:
        raise ValueError(f"The dashboard needs more packages: {pip_install('app')}.")
    from calib.ui.layout import style
    from calib.ui.session import serving

    try:
        for line in serving.hold(sources, table, arguments):
            tell(line)
    except InputError as error:
        raise with_options(error) from None
    try:
        serving.serve(port, address, hosts, style.css())
    except OSError as error:
        where = "" if port is None else f", port {port}"
        raise ValueError(
            f"The server cannot listen at {address or 'localhost'}{where}: "
            f"{error.strerror or error}. Name another --address or --port."
        ) from error
    return 0
