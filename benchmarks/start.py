"""From nothing to the first answer: ``uvx --from WHEEL calib serve FILE`` in an empty directory.

The first start makes an environment from the packages that uv has downloaded before (with
``--cold`` it downloads them); the second one finds it.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

from benchmarks._person import Person
from tests.browser.harness import free_port

ROOT = Path(__file__).resolve().parents[1]
UV = Path(sys.executable).with_name("uv")
N_ROWS = 20_000
MAX_START_SECONDS = 600.0  # A slow network needs minutes.


def start(wheel: Path, scores: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds until the server answers, and until the first page is complete."""
    port = free_port()
    command = ["tool", "run", "--from", f"{wheel}[app]", "--python", sys.executable]
    begun = time.perf_counter()
    server = subprocess.Popen(
        [UV, *command, "calib", "serve", scores, "--port", str(port)],
        cwd=scores.parent,
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        url = f"http://localhost:{port}"
        while not healthy(url):
            if server.poll() is not None or time.perf_counter() - begun > MAX_START_SECONDS:
                raise SystemExit("The dashboard did not start.")
            time.sleep(0.02)
        address = time.perf_counter() - begun
        person = Person(url)
        complete = time.perf_counter() - begun
        person.close()
        if person.errors:
            raise SystemExit(f"The first page failed: {person.errors[0]}")
        return address, complete
    finally:
        os.killpg(server.pid, signal.SIGINT)
        server.wait(30)


def healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def main() -> int:
    """Print the seconds of two starts."""
    options = argparse.ArgumentParser()
    options.add_argument("--cold", action="store_true", help="download the packages, too")
    given = options.parse_known_args()[0]
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        built = [UV, "build", "--quiet", "--wheel", "--out-dir", home / "dist", ROOT]
        subprocess.run(built, check=True)
        (home / "empty").mkdir()
        scores = home / "empty" / "scores.csv"
        rng = np.random.default_rng(0)
        score = rng.random(N_ROWS).round(6)
        rows = np.column_stack([rng.random(N_ROWS) < score**1.5, score])
        np.savetxt(scores, rows, fmt=["%d", "%.6f"], delimiter=",", header="y,p", comments="")
        environment = {**os.environ, "CALIB_HOME": str(home / "home")}
        if given.cold:
            environment["UV_CACHE_DIR"] = str(home / "cache")
        (wheel,) = (home / "dist").glob("*.whl")
        for which in ("first", "second"):
            address, complete = start(wheel, scores, environment)
            print(f"{which} start: address after {address:.1f} s, answer after {complete:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
