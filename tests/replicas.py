"""Two replicas of `calib serve` behind nginx, with the configuration of the container."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.browser import harness

CONFIGURATION = harness.ROOT / "container" / "nginx.conf"
# Each process writes to its own folder, and none needs a user of its own.
NGINX = """
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/replicas.conf;
}}
"""
MISSING = "nginx is not installed: skipped. On Debian: apt-get install nginx-light"


def nginx() -> str | None:
    """The program, or None. Debian installs it where not every user looks."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


@dataclass
class Replicas:
    """The address of nginx, and the servers behind it."""

    url: str
    servers: list["subprocess.Popen[bytes]"]
    logs: list[Path]

    def kill(self, number: int) -> None:
        """End a replica at once, as a crash does. Replicas are numbered from 1, as in cookies."""
        self.servers[number - 1].kill()
        self.servers[number - 1].wait()


@contextmanager
def running(
    folder: Path, port: int, environment: Mapping[str, str], *sources: str, count: int = 2
) -> Iterator[Replicas]:
    """Start the replicas and nginx, which listens at the port. One replica alone has no nginx."""
    if count == 1:
        with _replica(folder, port, environment, sources) as server:
            yield Replicas(f"http://localhost:{port}", [server], [folder / f"{port}.log"])
        return
    program = nginx()
    assert program is not None
    ports = [harness.free_port() for _ in range(count)]
    text = CONFIGURATION.read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
    for number, own in enumerate(ports, 1):
        text = text.replace(f"calib-{number}:{8500 + number}", f"127.0.0.1:{own}")
        text = text.replace(f"~:{8500 + number}$", f"~:{own}$")
    (folder / "replicas.conf").write_text(text)
    # Nobody else may read a folder of root.
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, user=user))
    command = [program, "-c", str(folder / "nginx.conf"), "-e", str(folder / "nginx.log")]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(_replica(folder, own, environment, sources)) for own in ports
        ]
        proxy = harness.running(command, f"http://localhost:{port}", folder / "output", {})
        stack.enter_context(proxy)
        logs = [folder / f"{own}.log" for own in ports]
        yield Replicas(f"http://localhost:{port}", servers, logs)


@contextmanager
def _replica(
    folder: Path, port: int, environment: Mapping[str, str], sources: tuple[str, ...]
) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "calib", "serve", *sources, "--port", str(port)]
    url, log = f"http://localhost:{port}", folder / f"{port}.log"
    with harness.running(command, url, log, {"CALIB_HOME": str(folder), **environment}) as server:
        yield server
