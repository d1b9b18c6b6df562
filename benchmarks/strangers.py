"""Memory of a server that a person who has not signed in fills with uploads, and then leaves.

    python -m benchmarks.strangers [--open]

A websocket without a cookie asks for addresses of uploads, and sends 150 MB to each. `--open` is a
server without sign-in, where everybody may upload.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks._person import MAX_WAIT_SECONDS, Person

ROOT = Path(__file__).parents[1]
SIZE_MB, UPLOADS = 150, 20
SECRETS = """[auth]
redirect_uri = "{url}/oauth2callback"
cookie_secret = "a secret of the benchmark, of forty characters"
client_id = "calib"
client_secret = "secret"
server_metadata_url = "http://127.0.0.1:9/.well-known/openid-configuration"
"""


class Stranger(Person):
    def places(self, count: int) -> list[str]:
        """Addresses of uploads, as the server hands them out."""
        asked = BackMsg()
        asked.file_urls_request.request_id = "drop"
        asked.file_urls_request.file_names.extend(f"{i}.csv" for i in range(count))
        asked.file_urls_request.session_id = self._session
        self._socket.send(asked.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(self._socket.recv(timeout=MAX_WAIT_SECONDS))  # type: ignore[arg-type]
            if answer.WhichOneof("type") == "file_urls_response":
                return [file.upload_url for file in answer.file_urls_response.file_urls]

    def send(self, path: str, data: bytes) -> str:
        try:
            self._upload(path, "rows.csv", data)
        except httpx.HTTPStatusError as error:
            return str(error.response.status_code)
        except httpx.TransportError as error:
            return type(error).__name__
        return "204"


def memory_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--open", action="store_true", help="a server without sign-in")
    opened = parser.parse_args().open
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        secrets = Path(folder) / "secrets.toml"
        secrets.write_text(SECRETS.format(url=url))
        variables = {"CALIB_HOME": folder, "STREAMLIT_SERVER_HEADLESS": "true"}
        variables |= {} if opened else {"STREAMLIT_SECRETS_FILES": str(secrets)}
        command = [sys.executable, "-m", "calib", "serve", "--port", str(port)]
        command += ["--address", "127.0.0.1"]
        log = Path(folder) / "log"
        with log.open("wb") as output:
            server = subprocess.Popen(
                command, cwd=ROOT, env=os.environ | variables, stdout=output, stderr=output
            )
        try:
            measure(url, server.pid)
        finally:
            server.terminate()
            server.wait(30)
        print(f"tracebacks in the log: {log.read_text().count('Traceback')}")


def measure(url: str, pid: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            httpx.get(f"{url}/_stcore/health").raise_for_status()
            break
        except httpx.TransportError:
            time.sleep(0.2)
    Person(url).close()
    stranger = Stranger(url)
    print(f"before: {memory_mb(pid):,.0f} MB")
    data = os.urandom(SIZE_MB * 2**20)
    answers = [stranger.send(place, data) for place in stranger.places(UPLOADS)]
    print(f"{UPLOADS} uploads of {SIZE_MB} MB: {' '.join(answers)}: {memory_mb(pid):,.0f} MB")
    stranger.close()
    left = time.monotonic()
    for seconds in (15, 60, 130):
        time.sleep(max(0.0, left + seconds - time.monotonic()))
        print(f"{seconds} s after leaving: {memory_mb(pid):,.0f} MB")


if __name__ == "__main__":
    main()
