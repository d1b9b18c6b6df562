"""A server that is told to stop: it ends in time, whatever its people do."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from benchmarks.strangers import Stranger
from tests.browser import harness
from tests.rare import rare

pytestmark = rare
# The server waits 10 seconds for answers, and then needs a moment on a busy machine.
MAX_SECONDS = 12.0


@dataclass
class Running:
    url: str
    port: int
    server: "subprocess.Popen[bytes]"
    log: Path

    def stop(self, *signals: signal.Signals) -> float:
        """Seconds until the server has ended, with all processes that it started."""
        start, children = time.monotonic(), processes_of(self.server.pid)
        for one in signals or (signal.SIGTERM,):
            self.server.send_signal(one)
            time.sleep(0.2)
        self.server.wait(60)
        while any(map(is_running, children)):
            assert time.monotonic() - start < 60
            time.sleep(0.1)
        return time.monotonic() - start


def processes_of(parent: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "--ppid", str(parent), "-o", "pid="], capture_output=True, text=True, check=False
    )
    return [int(line) for line in listed.stdout.split()]


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def serving(folder: Path, *command: str) -> Iterator[Running]:
    port, log = harness.free_port(), folder / "log"
    url = f"http://localhost:{port}"
    known = {"CALIB_HOME": str(folder), "STREAMLIT_LOGGER_ENABLE_RICH": "false"}
    words = [sys.executable, "-m", *command, "--port", str(port)]
    if command[0] == "streamlit":
        words[-2:] = [f"--server.port={port}", "--server.headless=true"]
    with harness.running(words, url, log, known) as server:
        yield Running(url, port, server, log)


@pytest.fixture(params=["calib", "streamlit"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Running]:
    command = {"calib": ["calib", "serve"], "streamlit": ["streamlit", "run", "app.py"]}
    with serving(tmp_path, *command[request.param]) as server:
        yield server


class Sender(Stranger):
    """Begins an upload, and sends no more of it than asked."""

    def begin(self, port: int) -> socket.socket:
        (path,) = self.places(1)
        cookies = "; ".join(f"{name}={value}" for name, value in self._client.cookies.items())
        head = [
            f"PUT {path} HTTP/1.1",
            f"Host: localhost:{port}",
            f"Cookie: {cookies}",
            f"X-Xsrftoken: {self._client.cookies['_streamlit_xsrf']}",
            "Content-Type: multipart/form-data; boundary=x",
            "Content-Length: 100000000",
        ]
        part = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\ny,p\n'
        sending = socket.create_connection(("localhost", port))
        sending.sendall(("\r\n".join(head) + "\r\n\r\n" + part).encode())
        time.sleep(0.5)
        return sending


def trickle(sending: socket.socket) -> None:
    with suppress(OSError):
        while True:
            sending.sendall(b"1,0.5\n")
            time.sleep(0.3)


def test_it_ends_at_once_without_people_and_with_an_open_page(running: Running) -> None:
    person = Sender(running.url)
    assert running.stop() < 5.0
    person.close()


@pytest.mark.parametrize(
    ("sends", "signals"),
    [(False, 1), (False, 2), (True, 1)],
    ids=["stalled", "asked twice", "slow"],
)
def test_it_ends_during_an_upload(running: Running, sends: bool, signals: int) -> None:
    person = Sender(running.url)
    sending = person.begin(running.port)
    if sends:
        threading.Thread(target=trickle, args=(sending,), daemon=True).start()
    with sending, closing(person):
        assert running.stop(*[signal.SIGTERM] * signals) < MAX_SECONDS
    assert "Traceback" not in running.log.read_text()


@pytest.mark.parametrize("wait", [1.0, 4.0])
def test_it_ends_while_a_file_is_read_and_analysed(tmp_path: Path, wait: float) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(400_000)
    y = rng.random(len(p)) < p
    lines = "\n".join(f"{int(hit)},{score:.8f}" for hit, score in zip(y, p, strict=True))
    content = f"y,p\n{lines}\n".encode()
    with serving(tmp_path, "calib", "serve") as running:
        person = Sender(running.url)

        def drop() -> None:
            with suppress(Exception):
                person.drop("data_file", "a.csv", content)

        threading.Thread(target=drop, daemon=True).start()
        time.sleep(wait)
        with closing(person):
            assert running.stop() < MAX_SECONDS


def test_a_body_without_bytes_is_given_up_and_frees_its_budget(tmp_path: Path) -> None:
    with serving(tmp_path, "calib", "serve") as running:
        person = Sender(running.url)
        sending, start = person.begin(running.port), time.monotonic()
        with sending:
            sending.settimeout(60)
            answer = sending.recv(1000)
            assert 28.0 < time.monotonic() - start < 40.0
            assert answer.startswith(b"HTTP/1.1 408")
            # The connection is closed, and the person may upload again.
            while sending.recv(1000):
                pass
        assert person.send(person.places(1)[0], b"y,p\n1,0.5\n") == "204"
        person.close()
