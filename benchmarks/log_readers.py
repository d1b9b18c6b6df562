"""Time and memory of the readers of evaluation logs, for about 500 MB of each format.

``python -m benchmarks log_readers`` writes the logs into a folder that it removes, and loads each
in a process of its own. ``--megabytes 100`` reads less. Targets for 500 MB: 60 s and 2 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

MAX_SECONDS, MAX_MEGABYTES, FULL_SIZE = 60.0, 2048.0, 500
# The transcript of an answer is most of a log. Its mean length decides how many answers there are.
LENGTHS = (6_000, 400)
MEAN_WORD = 5.3  # Letters of a word, and the space behind it.
WORDS = ("the", "answer", "follows", "because", "each", "step", "holds", "so", "we", "choose")
MEGABYTE = 1024**2
Answer: TypeAlias = tuple[int, float, bool, str]


def answers(rng: np.random.Generator, n_characters: int) -> Iterator[Answer]:
    """Number, confidence, whether it is right, and transcript of an answer, without an end."""
    words = np.array(WORDS)
    number = 0
    while True:
        confidence = float(rng.beta(4, 2))
        length = int(rng.gamma(4.0, n_characters / 4.0 / MEAN_WORD)) + 1
        yield (
            number,
            confidence,
            bool(rng.random() < confidence),
            " ".join(rng.choice(words, length)),
        )
        number += 1


def inspect_sample(number: int, confidence: float, right: bool, text: str) -> dict[str, Any]:
    return {
        "id": number,
        "epoch": 1,
        "input": text[: len(text) // 4],
        "target": "A",
        "messages": [{"role": "user", "content": text}, {"role": "assistant", "content": text}],
        "output": {"model": "m", "choices": [{"message": {"content": text[:200]}}]},
        "scores": {"match": {"value": "CI"[not right], "metadata": {"confidence": confidence}}},
    }


HEADER = {"version": 2, "status": "success", "eval": {"task": "long", "model": "m"}}


def inspect_json(path: Path, size: int, rows: Iterator[Answer]) -> None:
    with path.open("w") as file:
        file.write(json.dumps(HEADER)[:-1] + ', "samples": [')
        for answer in rows:
            file.write("," * (answer[0] > 0) + json.dumps(inspect_sample(*answer)))
            if file.tell() > size:
                break
        file.write("]}")


def inspect_archive(path: Path, size: int, rows: Iterator[Answer]) -> None:
    """The size is that of the unpacked samples: the words repeat, so the archive is small."""
    written, summaries = 0, []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for answer in rows:
            sample = inspect_sample(*answer)
            text = json.dumps(sample)
            packed.writestr(f"samples/{answer[0]}_epoch_1.json", text)
            names = ("id", "epoch", "target", "scores")
            summaries.append({name: sample[name] for name in names})
            written += len(text)
            if written > size:
                break
        packed.writestr("header.json", json.dumps(HEADER))
        packed.writestr("summaries.json", json.dumps(summaries))


def lm_eval(path: Path, size: int, rows: Iterator[Answer]) -> None:
    with path.open("w") as file:
        for number, confidence, right, text in rows:
            logs = np.log([confidence, *([(1.0 - confidence) / 3.0] * 3)])
            pairs = [[str(log), "False"] for log in logs]
            record = {
                "doc_id": number,
                "doc": {"question": text},
                "target": "0",
                "arguments": {f"gen_args_{i}": {"arg_0": text, "arg_1": " A"} for i in range(4)},
                "resps": [[pair] for pair in pairs],
                "filtered_resps": pairs,
                "filter": "none",
                "metrics": ["acc"],
                "acc": float(right),
            }
            file.write(json.dumps(record) + "\n")
            if file.tell() > size:
                break


def json_lines(path: Path, size: int, rows: Iterator[Answer]) -> None:
    with path.open("w") as file:
        for number, confidence, right, text in rows:
            record = {"id": f"r{number}", "confidence": confidence, "correct": right}
            file.write(json.dumps(record | {"answer": text}) + "\n")
            if file.tell() > size:
                break


WRITERS: dict[str, Callable[[Path, int, Iterator[Answer]], None]] = {
    "inspect.json": inspect_json,
    "inspect.eval": inspect_archive,
    "samples_long.jsonl": lm_eval,
    "rows.jsonl": json_lines,
}


def read(path: str) -> None:
    """Load a log, and print what it cost as JSON."""
    import calib

    began = time.perf_counter()
    rows = len(calib.load(path))
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print(json.dumps({"rows": rows, "seconds": seconds, "peak": peak}))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=FULL_SIZE)
    parser.add_argument("--read", metavar="FILE", help="load one log, and print what it cost")
    given = parser.parse_args(arguments or [])
    if given.read:
        read(given.read)
        return 0
    size, missed = given.megabytes, 0
    print("| log | MB | answers | seconds | peak MB |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for n_characters, (name, write) in product(LENGTHS, WRITERS.items()):
            path = Path(folder) / name
            write(path, size * MEGABYTE, answers(np.random.default_rng(0), n_characters))
            command = [sys.executable, "-m", "benchmarks.log_readers", "--read", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            cost = json.loads(done.stdout)
            path.unlink()
            figures = f"{cost['rows']:,} | {cost['seconds']:.1f} | {cost['peak']:,.0f}"
            print(f"| {name} | {size} | {figures} |", flush=True)
            missed += cost["seconds"] > MAX_SECONDS or cost["peak"] > MAX_MEGABYTES
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
