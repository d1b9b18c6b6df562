"""Reports recomputed from what they carry: random analyses, and random single changes of a report.

    python -m benchmarks.report_proof --analyses 1000 --changes 1000

Prints how many analyses verify, how many changes are found, and by what: the seal, and, where the
report is sealed again after the change, the cells.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter

import numpy as np

import calib
from calib.analysis.decisions import Costs
from calib.data.predictions import Predictions
from calib.reports import Report, ReportError, parts_of
from calib.reports.contents.codec import encode
from calib.reports.contents.sealing import seal_of
from calib.reports.verify import UNCOUNTED_PLACES, verify_report
from tests.reports.tampering import changed_leaf, leaves, random_predictions


def analyses(n: int) -> Counter[str]:
    """Random analyses, each reported and verified in both grades."""
    counts: Counter[str] = Counter()
    for seed in range(n):
        rows, settings, costs = random_predictions(np.random.default_rng(seed))
        try:
            analysis = calib.analyze(rows, settings)
        except ValueError:
            counts["cannot be analysed"] += 1
            continue
        if seed % 50 == 49:
            print(f"{seed + 1} analyses: {dict(counts)}", flush=True)
        parts = parts_of(rows, analysis, costs=costs)
        for grade in ("exact", "guarded"):
            try:
                verify_report(Report.from_analysis(analysis, parts=parts, grade=grade).json())
                counts[f"{grade}: equal"] += 1
            except ReportError as error:
                counts[f"{grade}: not equal"] += 1
                print(f"seed {seed}, {grade}: {error}", flush=True)
    return counts


def changes(n: int) -> Counter[str]:
    """Random single changes of an exact report: as they are, and under a new seal."""
    rng = np.random.default_rng(0)
    score = rng.random(400)
    columns = {"site": rng.choice(["north", "south"], 400)}
    rows = Predictions.from_arrays(rng.random(400) < score**1.5, score, columns=columns)
    analysis = calib.analyze(rows, calib.Settings(methods=("platt",)))
    parts = parts_of(rows, analysis, costs=Costs(false_negative=2))
    data = json.loads(Report.from_analysis(analysis, parts=parts, grade="exact").json())
    places = [place for place in leaves(data) if place[0] != "seal"]
    counts: Counter[str] = Counter()
    for at in rng.choice(len(places), n, replace=n > len(places)):
        changed = changed_leaf(data, places[at], rng)
        counts[f"seal: {_verdict(changed)}"] += 1
        name = ".".join(map(str, places[at])).replace("slices.0", "slices[0]")
        counted = places[at][0] in ("analysis", "parts") and not UNCOUNTED_PLACES.match(name)
        if counted or (places[at][0] == "evidence" and "columns" in places[at]):
            kind = "number or setting" if counted else "of the cells"
            again = _verdict(changed | {"seal": encode(seal_of(changed))})
            counts[f"sealed again, {kind}: {again}"] += 1
            if again == "not found":
                print(f"not found: {name}", flush=True)
    return counts


def _verdict(data: dict[str, object]) -> str:
    try:
        verify_report(json.dumps(data))
    except ReportError:
        return "found"
    return "not found"


def main(n_analyses: int = 100, n_changes: int = 100) -> int:
    """Print what was found; how many analyses did not verify, or changes were not found."""
    missed = 0
    for name, run, n in (("changes", changes, n_changes), ("analyses", analyses, n_analyses)):
        start = time.perf_counter()
        for kind, count in sorted(run(n).items()):
            print(f"{name}: {kind}: {count:,}", flush=True)
            missed += count if "not equal" in kind or "not found" in kind else 0
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return missed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--analyses", type=int, default=1000)
    parser.add_argument("--changes", type=int, default=1000)
    given = parser.parse_args()
    raise SystemExit(min(main(given.analyses, given.changes), 1))
