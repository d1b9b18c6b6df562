"""python -m tests.fuzz: a long run, or one input again."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

from tests.fuzz.cases import Result, judged
from tests.fuzz.run import BAD, run
from tests.fuzz.seeds import BY_NAME, SOURCES, case_of, smallest, source_of

SHOWN = 300


def main() -> int:
    """Run, print what came of it, and return 1 where anything was wrong, raw or hung."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000, help="how many (20,000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (all cores)"
    )
    parser.add_argument(
        "--source",
        default="",
        choices=[*SOURCES, *BY_NAME],
        help="one kind of input (damaged: files whose rows are known; foreign: exports of other "
        "programs; models: files of predictions; all but these in turns)",
    )
    parser.add_argument(
        "--only",
        type=int,
        metavar="SEED",
        help="one input, with all its bytes; if it fails, a smaller one",
    )
    chosen = parser.parse_args()
    if chosen.only is not None:
        return _again(chosen.only, chosen.source)
    start = time.monotonic()
    counts: Counter[tuple[str, str]] = Counter()
    codes: Counter[str] = Counter()
    source = chosen.source
    for seed, result in run(
        range(chosen.first, chosen.first + chosen.inputs), chosen.jobs, chosen.source
    ):
        counts[source_of(seed, source), result.kind] += 1
        if result.kind in ("asked", "refused"):
            codes[result.code] += 1
        if result.kind in (*BAD, "differs"):
            print(_told(seed, result, source), flush=True)
    _table(counts, codes)
    print(f"{sum(counts.values()):,} inputs in {time.monotonic() - start:.0f} s")
    return int(any(kind in BAD for _, kind in counts))


def _again(seed: int, source: str) -> int:
    case = case_of(seed, source)
    result = judged(case)
    print(case.note, case.data, _told(seed, result, source), sep="\n\n")
    if result.kind not in BAD:
        return 0
    smaller = smallest(source_of(seed, source), result)
    if smaller is None:
        print("\nHypothesis found no other input with this result.")
    else:
        print("\nThe smallest input with this result:", smaller.note, smaller.data, sep="\n\n")
    return 1


def _told(seed: int, result: Result, source: str) -> str:
    return f"seed {seed} ({source_of(seed, source)}): {result.kind}, {result.detail[:SHOWN]}"


def _table(counts: Counter[tuple[str, str]], codes: Counter[str]) -> None:
    kinds = ("right", "asked", "refused", "differs", *BAD)
    print("".join([f"\n{'source':12}", *(f"{kind:>10}" for kind in kinds)]))
    for source in sorted({source for source, _ in counts}):
        print("".join([f"{source:12}", *(f"{counts[source, kind]:10,}" for kind in kinds)]))
    total = {kind: sum(n for (_, k), n in counts.items() if k == kind) for kind in kinds}
    print("".join([f"{'all':12}", *(f"{total[kind]:10,}" for kind in kinds)]))
    print("\nrefused: " + ", ".join(f"{code} {n:,}" for code, n in codes.most_common()))


if __name__ == "__main__":
    sys.exit(main())
