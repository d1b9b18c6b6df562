"""Reproduce the papers: ``python -m benchmarks.reproduce [paper ...]``."""

from __future__ import annotations

import argparse
import sys
from types import ModuleType

from benchmarks.reproduce import beta, corp, ece_blog, google, ks, page, spline_calib
from benchmarks.reproduce.pictures import draw
from benchmarks.reproduce.published import Absent, Study, save
from benchmarks.reproduce.sources import ROOT

PAPERS: dict[str, ModuleType] = {
    "spline_calib": spline_calib,
    "ks": ks,
    "beta": beta,
    "google": google,
    "ece_blog": ece_blog,
    "corp": corp,
}
PAGE = ROOT / "docs" / "reproductions.md"
FOLDER = ROOT / "docs" / "reproductions"


def reproduce(study: Study) -> int:
    """Measure one study and write its files; return how many numbers are too far off."""
    try:
        measured = study.measure()
    except Absent as absent:
        print(f"{study.key}: skipped, {absent}; what the documents hold is kept")
        return 0
    save(measured.rows, FOLDER / f"{study.key}.csv")
    draw(measured.pictures, FOLDER)
    off = [row for row in measured.rows if not row.holds]
    for row in off:
        print(f"{study.key}: {row.name} must be {row.published} ± {row.tolerance}, got {row.ours}.")
    print(f"{study.key}: {len(measured.rows)} numbers, {len(off)} too far from the published ones")
    return len(off)


def main(arguments: list[str] | None = None) -> int:
    """Reproduce the chosen papers, or all; the exit status is 1 if a number is too far off."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduce", description=__doc__)
    parser.add_argument("papers", nargs="*", metavar="paper", help=", ".join(PAPERS))
    chosen = parser.parse_args(arguments).papers or list(PAPERS)
    unknown = [name for name in chosen if name not in PAPERS]
    if unknown:
        parser.error(f"a paper must be one of {', '.join(PAPERS)}, got {unknown[0]}.")
    FOLDER.mkdir(exist_ok=True)
    off = sum(reproduce(study) for name in chosen for study in PAPERS[name].STUDIES)
    page.write(PAPERS, PAGE, FOLDER)
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return min(off, 1)


if __name__ == "__main__":
    sys.exit(main())
