"""A Spark standalone cluster of the tests' own: a master, two workers and Spark Connect."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from tests.store import postgres

NO_JAVA = "Java is not here: skipped. On Debian: apt-get install default-jre-headless"
NO_SPARK = "PySpark is not installed: skipped. `make test-engines` installs it"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
# Workers with one core and executors with 1 GB leave the machine free for other work.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    # Each application uses only some cores, because several of them run side by side.
    "spark.cores.max": "2",
}
# The optimising compiler takes longer than it saves in a program that runs for seconds.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
QUICK = SETTINGS | {f"spark.{part}.extraJavaOptions": JAVA for part in ("driver", "executor")}


def missing() -> str | None:
    """Why no cluster can be started here, if so."""
    if find_spec("pyspark") is None:
        return NO_SPARK
    return None if shutil.which("java") else NO_JAVA


@dataclass
class Cluster:
    """A running cluster.

    Attributes
    ----------
    folder : Path
        Logs and what Spark writes.
    settings : mapping of str to str
        Of every session.
    master : str
        Address, ``spark://``.
    workers : list of Popen
    """

    folder: Path
    settings: Mapping[str, str]
    master: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add_worker(self) -> None:
        """Start one, and wait until the master knows it."""
        name = f"worker-{len(self.started)}"
        options = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        options += ["--cores", "3", "--memory", "3g", "-d", str(self.folder / name)]
        process = self._start(name, "spark-class", WORKER, *options, self.master)
        self.workers.append(process)
        self._wait_for(name, r"Successfully registered with master")

    def kill_worker(self) -> None:
        """End one and its executors at once, as a machine that fails does."""
        worker = self.workers.pop()
        children = subprocess.run(
            ["ps", "--ppid", str(worker.pid), "-o", "pid="], capture_output=True, text=True
        ).stdout.split()
        for pid in (worker.pid, *map(int, children)):
            os.kill(pid, signal.SIGKILL)
        worker.wait()

    def processor_seconds(self) -> float:
        """Processor time of all that runs, executors included."""
        parents, spent = {}, {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                pid = int(path.parent.name)
                parents[pid], spent[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
        pids = {process.pid for process in self.started}
        while children := {pid for pid, parent in parents.items() if parent in pids} - pids:
            pids |= children
        return sum(spent.get(pid, 0) for pid in pids) / os.sysconf("SC_CLK_TCK")

    def _start(self, name: str, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = Path(find_spec("pyspark").submodule_search_locations[0])  # type: ignore[union-attr, index]
        kept = {key: os.environ[key] for key in ("PATH", "JAVA_HOME", "LANG") if key in os.environ}
        variables = kept | {
            "SPARK_HOME": str(home),
            "HOME": str(self.folder),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
            "SPARK_WORKER_OPTS": "-Dspark.worker.timeout=10",
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(home / "bin" / program), *arguments],
                cwd=self.folder,
                env=variables,
                stdout=log,
                stderr=log,
                # Root may read everything, so the program runs as another user.
                user=postgres.user(),
            )
        self.started.append(process)
        return process

    def _wait_for(self, name: str, pattern: str) -> str:
        """Wait until the log of a program has a pattern, and return its last group."""
        log, process = self.folder / f"{name}.log", self.started[-1]
        for _ in range(600):
            if match := re.search(pattern, log.read_text(errors="replace")):
                return match.group(match.re.groups)
            if process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"{name} did not start:\n{log.read_text(errors='replace')[-3000:]}")

    def start(self) -> None:
        """Start the master and two workers."""
        options = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        self._start("master", "spark-class", MASTER, *options)
        self.master = self._wait_for("master", r"Starting Spark master at (spark://\S+)")
        for _ in range(2):
            self.add_worker()

    @cached_property
    def connect(self) -> str:
        """Address of Spark Connect, ``sc://``, which starts when it is first asked for."""
        return self.start_connect()

    def start_connect(self) -> str:
        """Start Spark Connect in front of the workers; its address."""
        local = "spark.connect.grpc.binding"
        settings = {**self.settings, f"{local}.address": "127.0.0.1", f"{local}.port": "0"}
        name, given = f"connect-{len(self.started)}", ["--master", self.master, "--class", CONNECT]
        for setting, value in settings.items():
            given += ["--conf", f"{setting}={value}"]
        self._start(name, "spark-submit", *given, "spark-internal")
        port = self._wait_for(name, r"Spark Connect server started at: \S*?:(\d+)")
        return f"sc://127.0.0.1:{port}"

    def stop(self) -> None:
        """End all that was started."""
        for process in reversed(self.started):
            if process.poll() is None:
                process.terminate()
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def cluster(settings: Mapping[str, str] = SETTINGS) -> Iterator[Cluster]:
    """A cluster of two workers, in a folder of its own, that only this machine reaches."""
    with tempfile.TemporaryDirectory(prefix="calib-spark-", ignore_cleanup_errors=True) as name:
        made = Cluster(Path(name), settings)
        if account := postgres.user():
            shutil.chown(name, account)
        try:
            made.start()
            yield made
        finally:
            made.stop()
