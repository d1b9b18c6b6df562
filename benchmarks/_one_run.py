"""One piece of work in a process of its own: ``python _one_run.py analyze|load FILE``.

Prints seconds of the processor, seconds on the clock and the most megabytes held, as JSON. It uses
only what every version of the package has, so that an older checkout can run it.
"""

import json
import resource
import sys
import time

import numpy as np

import calib

MAXRSS_PER_MB = 1024.0 if sys.platform == "linux" else 1024.0**2


def analyze(file: str) -> None:
    """Analyse a table that is in memory."""
    columns = np.load(file)
    predictions = calib.Predictions.from_arrays(columns["y"], columns["p"])
    del columns
    timed(lambda: calib.analyze(predictions))


def load(file: str) -> None:
    """Read and check a file."""
    timed(lambda: calib.load(file, outcome="y", score="p"))


def timed(run: object) -> None:
    """Print what a call costs."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()  # type: ignore[operator]
    seconds = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MAXRSS_PER_MB
    print(json.dumps(seconds | {"peak": peak}))


if __name__ == "__main__":
    # The first run loads and compiles, which is not measured.
    rng = np.random.default_rng(0)
    few = rng.random(2000)
    calib.analyze(calib.Predictions.from_arrays(rng.random(2000) < few, few))
    {"analyze": analyze, "load": load}[sys.argv[1]](sys.argv[2])
