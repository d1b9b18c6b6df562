"""Time and memory of reading the answers of decision models.

``python -m benchmarks decision_logs`` reads 5,000 records of 40 questions in a process of its own.
Targets: 3 CPU s and 300 MB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

N_RECORDS, N_QUESTIONS, OPTIONS = 5_000, 40, ("billing", "tech", "sales", "other")
MAX_SECONDS, MAX_MEGABYTES = 3.0, 300.0


def record(rng: np.random.Generator) -> dict[str, Any]:
    """Answers of two types in turn, and their labels."""
    answers: dict[str, Any] = {}
    labels: dict[str, Any] = {}
    for number in range(N_QUESTIONS):
        name, shares = f"question {number}", rng.dirichlet(np.ones(4)).round(4)
        if number % 2:
            answers[name] = {"type": "noul", "noul": float(shares[0])}
            labels[name] = bool(rng.random() < shares[0])
        else:
            answers[name] = {
                "type": "choice",
                "choice": OPTIONS[shares.argmax()],
                "confidence": float(shares.max()),
                "probabilities": dict(zip(OPTIONS, shares.tolist(), strict=True)),
            }
            labels[name] = OPTIONS[rng.integers(4)]
    return {"model": "jev-1.13.0", "answers": answers, "labels": labels}


def read(file: str) -> None:
    """Print the CPU seconds of reading a file, and the peak memory in MB."""
    import calib

    read_log = calib.decisions_log
    begun = time.process_time()
    assert len(read_log(file)) == N_QUESTIONS
    seconds = time.process_time() - begun
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main(arguments: Sequence[str] = ()) -> int:
    argparse.ArgumentParser(prog="python -m benchmarks.decision_logs").parse_args(arguments)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "answers.jsonl")
        with file.open("w") as stream:
            for _ in range(N_RECORDS):
                stream.write(json.dumps(record(rng)) + "\n")
        code = f"from benchmarks.decision_logs import read; read({str(file)!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    seconds, megabytes = map(float, done.stdout.split())
    print(
        f"{N_RECORDS:,} records of {N_QUESTIONS} questions: {seconds:.1f} CPU s, {megabytes:.0f} MB"
    )
    return int(seconds > MAX_SECONDS or megabytes > MAX_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
