"""The clock of the benchmarks: time of the processor, which other programs do not change."""

import time
from collections.abc import Callable
from statistics import median


def cpu_seconds(run: Callable[[], object], repeats: int = 1) -> float:
    """Median CPU time of a call."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        spent.append(time.process_time() - start)
    return median(spent)
