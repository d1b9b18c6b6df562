"""Streamlit with a clock: writes how long every script run took, and what in it, a line each.

``python -m benchmarks._timed_server LOG run app.py ...``: what follows LOG is Streamlit's.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.web.cli import main

CHARTS, EXPLORER = "charts sent", "explorer sent"
# This part lasts from the start of a run until its first chart, or the explorer, is sent.
DIAGRAM, STARTED = "diagram", "started"
# The values are the functions that make up a part of a run.
PARTS = {
    "analysis": ["calib.ui.session.state:analysis"],
    "figures": [
        "calib.figures.reliability:reliability_chart",
        "calib.figures.functions:sensitivity_chart",
    ],
    CHARTS: ["streamlit:plotly_chart"],
    EXPLORER: ["calib.ui.pages.reliability.explorer:show"],
    "tables sent": ["streamlit:dataframe"],
    "address": ["calib.ui.session.state:write_address"],
    "navigation": ["calib.ui.layout.navigation:draw"],
}
PAGE = resource.getpagesize()
spent = threading.local()


def memory() -> float:
    """Megabytes that the process holds; 0 where the system does not say."""
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * PAGE / 1e6 if pages.exists() else 0.0


def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, its time added to a part of the run."""

    def call(*args: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*args, **options)
        finally:
            parts = spent.__dict__
            now = time.perf_counter()
            parts[part] = parts.get(part, 0.0) + now - start
            if part in (CHARTS, EXPLORER):
                parts.setdefault(DIAGRAM, now - parts[STARTED])

    return call


def watch(log: Path) -> None:
    """Time every script run and its parts."""
    for part, places in PARTS.items():
        for place in places:
            module, name = place.split(":")
            owner = importlib.import_module(module)
            setattr(owner, name, timed(part, getattr(owner, name)))
    run_script = ScriptRunner._run_script

    def run(runner: ScriptRunner, rerun_data: Any) -> None:
        spent.__dict__.clear()
        start, cpu = time.perf_counter(), time.thread_time()
        spent.__dict__[STARTED] = start
        run_script(runner, rerun_data)
        whole = {
            "fragment": bool(rerun_data.fragment_id_queue or rerun_data.fragment_id),
            "run": time.perf_counter() - start,
            "cpu": time.thread_time() - cpu,
            "memory": memory(),
        }
        with log.open("a") as lines:
            lines.write(json.dumps(whole | spent.__dict__) + "\n")

    ScriptRunner._run_script = run  # type: ignore[method-assign]


if __name__ == "__main__":
    path = Path(sys.argv.pop(1))
    watch(path)
    sys.exit(main())
