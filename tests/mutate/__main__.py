"""Does a test notice? One operator, constant or result of the library is changed at a time.

`make mutate` takes a seeded sample of all such changes, runs the tests of the changed file, those
of its folder and those that import it, and prints what no test noticed. Files stay as they are: a
fork of this process imports the changed module.
"""

import argparse
import importlib.abc
import importlib.machinery
import os
import random
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from tests.mutate.mutants import Mutant, mutants, mutated

ROOT = Path(__file__).resolve().parents[2]
MUTATED = (
    "calib/numerics",
    "calib/uncertainty",
    "calib/metrics",
    "calib/calibrators",
    "calib/analysis/verdict.py",
    "calib/analysis/recommendation.py",
    "calib/analysis/slices",
    "calib/reports/disclosure.py",
)
# Whole pages and pictures show a changed number late.
NOT_ASKED = (
    *("browser", "pages", "fuzz", "reproduce", "mutate", "figures", "ui", "golden", "store"),
    "test_postgresql.py",  # it starts a server
)
# Scores and matrices share a package of the library; tests of matrices stand beside. Exports are
# tested calibrator by calibrator, which they take from the registry.
BESIDE = {"calibrators": ("multiclass", "exports"), "metrics": ("multiclass",)}
CPU_SECONDS = 240  # an endless loop is noticed too
BROKEN = 70  # no exit code of pytest
NO_TESTS = 5  # of pytest: a module without examples has none


class _Mutating(importlib.abc.MetaPathFinder):
    """Import the mutant instead of its module."""

    def __init__(self, mutant: Mutant):
        self.mutant = mutant
        self.imported = False  # else the tests ran, and nothing was mutated
        self.module = ".".join(Path(mutant.path).with_suffix("").parts).removesuffix(".__init__")

    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(name, spec.origin, self)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, finder: _Mutating):
        super().__init__(name, path)
        self.finder = finder

    def get_code(self, _fullname: str):
        self.finder.imported = True
        tree = mutated(Path(self.path).read_text(encoding="utf-8"), self.finder.mutant.number)
        return compile(tree, self.path, "exec", dont_inherit=True)


def tests_of(path: str) -> tuple[list[str], list[str]]:
    """Test files that may notice a change of this file: its own, and those farther off."""
    module = Path(path).with_suffix("")
    name = ".".join(module.parts).removesuffix(".__init__")

    def distance(test: Path) -> int:
        if test.stem.startswith(f"test_{module.stem}"):
            return 0
        if test.parent.name in (module.parent.name, *BESIDE.get(module.parent.name, ())):
            return 1
        text = test.read_text(encoding="utf-8")
        return 2 if f"{name} import" in text else 3

    all_tests = [
        test for test in Path("tests").rglob("test_*.py") if not set(test.parts) & set(NOT_ASKED)
    ]
    near = sorted((distance(test), str(test)) for test in all_tests)
    return [path, *(test for far, test in near if far == 0)], [t for far, t in near if 0 < far < 3]


def survivors(drawn: Sequence[Mutant], jobs: int) -> Iterator[Mutant]:
    """The mutants whose tests all pass; each is tried in a process of its own."""
    waiting: list[Mutant | None] = [None, *drawn]  # first: the same tests without a mutant
    every = (test for one in drawn for part in tests_of(one.path) for test in part)
    all_tests = (list(dict.fromkeys(every)), [])
    running: dict[int, Mutant | None] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop(0)
            running[_start(tests_of(mutant.path) if mutant else all_tests, mutant)] = mutant
        child, status = os.wait()
        mutant = running.pop(child)
        print(len(waiting) + len(running), "to go", end="\r", file=sys.stderr, flush=True)
        if mutant is None and _noticed(status):
            # Each mutant would look noticed.
            raise SystemExit("The tests fail without any mutant: mend them first.")
        if mutant is not None and not _noticed(status):
            yield mutant


def _start(tests: tuple[list[str], list[str]], mutant: Mutant | None) -> int:
    """Run the tests in a fork, of the mutant if there is one; return the fork's number."""
    child = os.fork()
    if child == 0:
        code = BROKEN
        try:
            code = _run(tests, mutant)
        finally:
            os._exit(code)
    return child


def _run(tests: tuple[list[str], list[str]], mutant: Mutant | None) -> int:
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    if mutant is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        finder = _Mutating(mutant)
        sys.meta_path.insert(0, finder)
    import pytest

    # plain: pytest would import a module of its command line itself, past the mutant.
    options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist"]
    codes = (int(pytest.main([*options, *part])) for part in tests if part)
    code = next((code for code in codes if code not in {0, NO_TESTS}), 0)
    return BROKEN if mutant is not None and not finder.imported else code


def _noticed(status: int) -> bool:
    """A test failed, a module or conftest.py could not be imported, or a loop did not end.

    Anything else is no answer of a test: a run that never began would notice every mutant.
    """
    code = os.waitstatus_to_exitcode(status)
    if code not in {0, 1, 2, 4, -signal.SIGXCPU, -signal.SIGKILL}:
        raise RuntimeError(f"pytest could not run: it ended with {code}")
    return code != 0


def sample(number: int, seed: int, only: str) -> list[Mutant]:
    """A seeded draw of all mutants; its beginning is a draw too, if a run is broken off."""
    files = [
        str(path)
        for place in MUTATED
        for path in (sorted(Path(place).rglob("*.py")) if Path(place).is_dir() else [Path(place)])
        if only in str(path)
    ]
    everything = [mutant for path in files for mutant in mutants(path)]
    return random.Random(seed).sample(everything, min(number, len(everything)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutate", description=__doc__)
    parser.add_argument("--mutants", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="of files with this in their path")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    os.chdir(ROOT)
    # Forks share these imports, and a fork must not inherit threads.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    for module in ("numpy", "pandas", "scipy.stats", "sklearn.metrics"):
        __import__(module)
    drawn = sample(options.mutants, options.seed, options.only)
    killed = len(drawn)
    for mutant in survivors(drawn, options.jobs):
        killed -= 1
        print(f"no test noticed {mutant}", flush=True)
    print(f"{killed} of {len(drawn)} mutants killed ({killed / len(drawn):.1%})")


if __name__ == "__main__":
    main()
