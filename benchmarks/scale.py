"""calib.scan against the engine's own GROUP BY, by number of rows: processor time and memory.

``python -m benchmarks.scale`` writes Parquet of 1e6 and 1e7 rows with eight slice columns into a
folder that it removes; ``--rows 1e8`` takes about 1 GB and some minutes. Each step runs in a
process of its own, so that its memory is its own. ``--spark`` compares Spark Connect in front of a
cluster of two workers with the same GROUP BY by hand, by the processor time of the cluster.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

N_SLICES = 8
VALUES = (2, 3, 4, 5, 6, 8, 10, 12)
SLICES = [f"s{i}" for i in range(N_SLICES)]
METHODS = ("platt", "isotonic", "beta", "spline", "temperature", "histogram")
MEMORY = "400MB"


def write(folder: Path, rows: int) -> None:
    """Scores of a model that is overconfident, in files of at most 5e6 rows."""
    import duckdb

    connection = duckdb.connect()
    columns = ", ".join(
        f"(hash(i * 8 + {i}) % {VALUES[i]})::TINYINT AS s{i}" for i in range(N_SLICES)
    )
    for number, start in enumerate(range(0, rows, 5_000_000)):
        stop = min(rows, start + 5_000_000)
        connection.execute(f"SELECT setseed({0.5 + number / 1000})")
        connection.execute(
            f"""
            COPY (
                SELECT score, (random() < 1 / (1 + exp(-0.8 * ln(score / (1 - score)))))::TINYINT
                    AS outcome, (25200 * score)::INTEGER AS bucket, {columns}
                FROM (
                    SELECT i, 1 / (1 + exp(1 - 2 * sqrt(-2 * ln(1 - random()))
                        * cos(2 * pi() * random()))) AS score
                    FROM range({start}, {stop}) AS r(i)
                )
            ) TO '{folder / f"{number:03}.parquet"}' (FORMAT parquet, COMPRESSION zstd)
            """
        )


def group_by(folder: str) -> None:
    """What the engine cannot do without: one GROUP BY per slice column, on a bucket column."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET memory_limit = '{MEMORY}'")
    # In the working directory, the spilled files would be committed.
    connection.execute(f"SET temp_directory = '{folder}/spilled'")
    for column in SLICES:
        connection.sql(
            f"SELECT {column}, bucket, outcome, count(*), sum(score), min(score), max(score) "
            f"FROM read_parquet('{folder}/*.parquet') GROUP BY ALL"
        ).to_arrow_table()


def scan(folder: str) -> None:
    """The same by calib.scan, and the cells saved."""
    import calib

    counted = calib.scan(folder, outcome="outcome", score="score", slices=SLICES)
    counted.save(Path(folder) / "cells.counts")


def analyse(folder: str) -> None:
    """From cells to a complete analysis of six methods."""
    import calib

    cells = calib.Aggregate.load(Path(folder) / "cells.counts")
    start = time.perf_counter()
    calib.analyze(cells, {"methods": METHODS})
    print(json.dumps({"analysis": time.perf_counter() - start}))


STEPS = {"group_by": group_by, "scan": scan, "analyse": analyse}


def measured(step: str, folder: Path) -> dict[str, float]:
    """Processor and wall-clock seconds of a step, and its largest resident memory in GB."""
    command = [sys.executable, "-m", "benchmarks.scale", "--step", step, "--folder", str(folder)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    return {k: v for line in process.stdout.splitlines() for k, v in json.loads(line).items()}


def compare(rows: int) -> None:
    """Print one row of the table."""
    with tempfile.TemporaryDirectory(prefix="calib-scale-") as name:
        folder = Path(name)
        write(folder, rows)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
        seconds = {step: measured(step, folder) for step in STEPS}
    theirs, ours = seconds["group_by"], seconds["scan"]
    print(
        f"| {rows:.0e} | {size:.2f} | {theirs['cpu']:.1f} | {ours['cpu']:.1f} "
        f"| {ours['cpu'] / theirs['cpu']:.2f} | {ours['wall']:.1f} | {ours['memory']:.2f} "
        f"| {seconds['analyse']['analysis']:.2f} |",
        flush=True,
    )


def compare_in_spark(rows: int) -> None:
    """Print one row of the table of Spark Connect."""
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.session import SparkSession

    import calib
    from tests.scanning import spark

    with tempfile.TemporaryDirectory(prefix="calib-scale-") as name, spark.cluster() as cluster:
        folder = Path(name)
        folder.chmod(0o755)
        write(folder, rows)
        session = SparkSession.builder.remote(cluster.connect).create()
        sums = ("count(*)", "sum(score)", "min(score)", "max(score)")

        def by_hand(frame: DataFrame) -> None:
            frame.createOrReplaceTempView("scores")
            for column in SLICES:
                key = f"{column}, bucket, outcome"
                query = f"SELECT {key}, {', '.join(sums)} FROM scores GROUP BY {key}"
                session.sql(query).toArrow()

        def by_scan(frame: DataFrame) -> None:
            calib.scan(frame, outcome="outcome", score="score", slices=SLICES)

        first, whole = (session.read.parquet(path) for path in (f"{name}/000.parquet", name))
        seconds = []
        for step in (by_hand, by_scan):
            step(first)  # Spark starts executors and compiles new code in the first run.
            before, start = cluster.processor_seconds(), time.perf_counter()
            step(whole)
            seconds += [cluster.processor_seconds() - before, time.perf_counter() - start]
        session.stop()  # Otherwise it waits at the exit for a server that is gone.
    theirs, own_wall, ours, wall = seconds
    print(
        f"| {rows:.0e} | {theirs:.1f} | {ours:.1f} | {ours / theirs:.2f} | "
        f"{own_wall:.1f} | {wall:.1f} |",
        flush=True,
    )


def main() -> None:
    """Compare, or run one step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--folder", type=str)
    parser.add_argument("--spark", action="store_true")
    given = parser.parse_args()
    if given.spark:
        print("| rows | GROUP BY CPU s | scan CPU s | ratio | GROUP BY s | scan s |")
        print("| --- | --- | --- | --- | --- | --- |")
        for rows in given.rows:
            compare_in_spark(int(rows))
        return
    if given.step is None:
        head = ("rows", "GB", "GROUP BY CPU s", "scan CPU s", "ratio", "scan s", "GB resident")
        print(f"| {' | '.join((*head, 'analysis s'))} |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for rows in given.rows:
            compare(int(rows))
        return
    # Imports are not part of a step.
    import duckdb  # noqa: F401

    import calib.scanning  # noqa: F401

    start, before = time.perf_counter(), time.process_time()
    STEPS[given.step](given.folder)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    spent = {"cpu": time.process_time() - before, "wall": time.perf_counter() - start}
    print(json.dumps(spent | {"memory": memory}))


if __name__ == "__main__":
    main()
