"""A PostgreSQL of the tests' own, in a folder of its own, that no network reaches."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

DEBIAN = Path("/usr/lib/postgresql")
MISSING = (
    "PostgreSQL's programs (initdb, pg_ctl) are not here: skipped. "
    "On Debian: apt-get install postgresql"
)


def programs() -> Path | None:
    """The folder of the newest installed version's programs."""
    paths = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    if paths:
        return paths[-1].parent
    return Path(on_path).resolve().parent if on_path else None


def user() -> str | None:
    """Who runs the server where the tests run as root, for whom it refuses to run."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextmanager
def cluster(binaries: Path) -> Iterator[str]:
    """The folder of the socket of a running server, without a password."""
    folder = Path(tempfile.mkdtemp(prefix="calib-pg-"))
    account = user()
    if account:
        shutil.chown(folder, account)

    def run(program: str, *arguments: str) -> None:
        # The server would inherit a pipe and keep it open, so the log goes to a file.
        with (folder / "log").open("ab") as log:
            subprocess.run(
                [binaries / program, "-D", folder / "data", *arguments],
                user=account,
                cwd=folder,
                stdout=log,
                stderr=log,
                check=True,
                timeout=60,
            )

    try:
        run("initdb", "-U", "calib", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run("pg_ctl", "start", "-w", "-o", options)
        try:
            yield str(folder)
        finally:
            run("pg_ctl", "stop", "-m", "immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def create_schema(socket: str, name: str) -> str:
    """Address of an empty schema, which is quicker made than a database and holds as much."""
    with psycopg.connect(host=socket, user="calib", dbname="postgres", autocommit=True) as server:
        server.execute(f"CREATE SCHEMA {name}")
    return f"postgresql://calib@/postgres?host={socket}&options=-csearch_path%3D{name}"
