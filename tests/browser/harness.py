"""Start the app, drive it in a real browser, read what it drew."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, Playwright

ROOT = Path(__file__).resolve().parents[2]
FLAGS = (
    "--no-sandbox",  # The root user of a container has no sandbox.
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MAX_WAIT_MS = 60_000  # A cold first page takes half of this on a busy two-core machine.
# Between a fragment and the page's rerun that it asks for, the script stands still for an instant,
# and an action takes one to leave the browser: only rest that lasts is rest.
REST_MS = 300
POLL_MS = 50  # Timers end in the order of their times, so those of an action end before a look.
# Streamlit does not mark a page as running until the server answers, which takes longer than the
# rest on a busy machine. So the page notes whether the server has answered what was sent last.
WATCH = """
() => {
    window.restless = performance.now();
    if (window.watched) return;
    window.watched = true;
    const send = WebSocket.prototype.send;
    const heard = () => { window.unanswered = false; };
    WebSocket.prototype.send = function (data) {
        window.unanswered = true;
        this.addEventListener("message", heard);  // The same function is added only once.
        send.call(this, data);
    };
}
"""
AT_REST = """
rest => {
    const idle = document.querySelector("[data-testid=stApp]" +
        "[data-test-connection-state=CONNECTED][data-test-script-state=notRunning]");
    const loading = document.querySelector("[data-testid=stSkeleton]");
    const plots = [...document.querySelectorAll(".js-plotly-plot")];
    const drawn = plots.every(plot => plot._fullData);
    const now = performance.now();
    if (!idle || loading || !drawn || window.unanswered) window.restless = now;
    window.restless ??= now;  // a new document
    return now - window.restless > rest;
}
"""
# Underscored keys are plotly's private state: large, circular, and no part of the picture.
READ_TRACES = """
plot => JSON.stringify(plot._fullData, (key, value) =>
    key.startsWith("_") ? undefined : ArrayBuffer.isView(value) ? Array.from(value) : value)
"""
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@contextmanager
def serve(
    log: Path,
    script: str = "app.py",
    module: str = "streamlit",
    *arguments: str,
) -> Iterator[str]:
    """Run the app, or another script, on a free port, all its output in `log`; yield its address.

    `module` starts the server: Streamlit, or what starts it in its own way after `arguments`.
    """
    port = free_port()
    url = f"http://localhost:{port}"
    options = {
        "server.port": port,
        "server.headless": "true",  # Streamlit opens no window.
        "logger.enableRich": "false",  # Tracebacks are plain text.
    }
    command = [sys.executable, "-m", module, *arguments, "run", script]
    command += [f"--{name}={value}" for name, value in options.items()]
    # Saved reports are never those of the person who runs this.
    with running(command, url, log, {"CALIB_HOME": os.environ.get("CALIB_HOME", str(log.parent))}):
        yield url


@contextmanager
def running(
    command: list[str], url: str, log: Path, environment: Mapping[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command that serves the app at an address, all its output in `log`."""
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_healthy(url, server, log)
            yield server
        finally:
            _stop(server)


def launch(playwright: Playwright, executable: str, *flags: str) -> Browser:
    return playwright.chromium.launch(executable_path=executable, args=[*FLAGS, *flags])


def visit(page: Page, path: str = "/") -> None:
    """Open a page of the app ("/reliability?bins=20") and wait until it is drawn."""
    page.goto(path)
    settle(page)


def settle(page: Page) -> None:
    """Wait until the last action has been answered and drawn; fail on an exception shown."""
    page.evaluate(WATCH)
    page.wait_for_function(AT_REST, arg=REST_MS, polling=POLL_MS, timeout=MAX_WAIT_MS)
    page.evaluate(TWO_FRAMES)  # Plotly redraws after the script has ended.
    assert not exceptions(page)


def exceptions(page: Page) -> list[str]:
    """What the page's exception boxes say; the server's log says more."""
    return page.locator("[data-testid=stException]").all_inner_texts()


def by_key(page: Page, key: str) -> Locator:
    """The widget, chart or container that was given `key=`."""
    return page.locator(f".st-key-{key}")


def traces(page: Page, key: str) -> list[dict[str, Any]]:
    """The traces of the one chart inside `key` as plotly drew them, defaults filled in."""
    open_static(page)
    return json.loads(by_key(page, key).locator(".js-plotly-plot").evaluate(READ_TRACES))


def open_static(page: Page) -> None:
    """Have the static charts drawn, where those that follow a hand stand above them."""
    for key in ("static_diagram", "static_decisions"):
        closed = by_key(page, key).locator("details:not([open]) > summary")
        if closed.count():
            closed.click()
            settle(page)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def _wait_healthy(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + MAX_WAIT_MS / 1000
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
        except OSError:  # The server is not listening yet.
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"The app did not start:\n{log.read_text(errors='replace')}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(timeout=10)
    except subprocess.TimeoutExpired:  # A script thread may not end by itself.
        server.kill()
        server.wait()
