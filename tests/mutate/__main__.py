"""Does a test notice? One operator, constant or result of the library is changed at a time.

`make mutate` takes a seeded sample of all such changes, runs the tests that execute the changed
line, and prints what no test noticed. Files stay as they are: a fork of this process imports the
changed module.
"""

import argparse
import gc
import importlib
import importlib.abc
import importlib.machinery
import os
import random
import resource
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from tests.mutate.executed import Executed, collect
from tests.mutate.forks import BROKEN, in_forks, run_pytest
from tests.mutate.mutants import MUTATED, Mutant, mutants, mutated

ROOT = Path(__file__).resolve().parents[2]
N_CONTROLS = 3  # Tests of this many mutants also run without a mutation.
MAX_FILES = 10  # A run imports all of its files before the first test, so few are faster.
IMPORTED = (
    *("numpy", "pandas", "scipy.stats", "scipy.optimize", "scipy.interpolate", "narwhals"),
    *("sklearn.metrics", "sklearn.linear_model", "sklearn.isotonic", "sklearn.model_selection"),
    *("plotly.graph_objects", "hypothesis", "hypothesis.extra.numpy"),
)
NOT_FOUND = 4  # Pytest ends with this code if no test has a given name.
MAX_CPU_SECONDS = 240  # The limit ends mutants with an endless loop.


def module_of(path: str) -> str:
    """The name under which a file is imported."""
    return ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")


class _Mutating(importlib.abc.MetaPathFinder):
    """Import the mutant instead of its module."""

    def __init__(self, mutant: Mutant):
        self.mutant = mutant
        self.imported = False  # If it stays False, the tests ran without the mutation.
        self.module = module_of(mutant.path)

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


def survivors(drawn: Sequence[Mutant], executed: Executed, jobs: int) -> Iterator[Mutant]:
    """The mutants whose tests all pass."""
    chosen = {mutant: executed.tests_of(mutant.path, mutant.lines) for mutant in drawn}
    # A fork copies what Python's collector looks through.
    gc.freeze()
    _without(drawn[:N_CONTROLS], chosen, jobs)
    unclear = []
    for mutant, code in in_forks(drawn, lambda one: _run(one, chosen[one]), jobs):
        # A test failed, a module or conftest.py could not be imported, or a loop did not end.
        # Anything else is no answer of a test: it would notice every mutant.
        if code not in {0, 1, 2, NOT_FOUND, -signal.SIGXCPU, -signal.SIGKILL}:
            raise RuntimeError(f"pytest could not run: it ended with {code} for {mutant}")
        if code == NOT_FOUND:
            unclear.append(mutant)
        if code == 0:
            yield mutant
    # Their tests were not found: by the mutant, or because they are called otherwise in a fork.
    _without(unclear, chosen, jobs)


def _without(drawn: Sequence[Mutant], chosen: Mapping[Mutant, list[list[str]]], jobs: int) -> None:
    """Stop if the tests of a mutant fail without it."""
    for mutant, code in in_forks(drawn, lambda one: _run(None, chosen[one]), jobs):
        if code != 0:
            raise SystemExit(f"The tests of {mutant} fail without it: mend them first.")


def _run(mutant: Mutant | None, files: list[list[str]]) -> int:
    """Run the test files, a few at a time, until one fails."""
    finder = _Mutating(mutant) if mutant else None
    if finder:
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))
        sys.meta_path.insert(0, finder)
    for few in (files[start : start + MAX_FILES] for start in range(0, len(files), MAX_FILES)):
        try:
            _import_examples(few)
        except Exception:
            return 1
        code = run_pytest([test for file in few for test in file])
        if code != 0:
            return code
        if finder and not finder.imported:
            return BROKEN
    return 0


def _import_examples(files: list[list[str]]) -> None:
    """Import modules with examples: pytest would execute one again after its package has."""
    for path in (file[0].partition("::")[0] for file in files):
        if not path.startswith("tests"):
            importlib.import_module(module_of(path))


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
    for module in IMPORTED:
        importlib.import_module(module)
    executed = collect(options.jobs)
    drawn = sample(options.mutants, options.seed, options.only)
    killed = len(drawn)
    for mutant in survivors(drawn, executed, options.jobs):
        killed -= 1
        print(f"no test noticed {mutant}", flush=True)
    print(f"{killed} of {len(drawn)} mutants killed ({killed / len(drawn):.1%})")


if __name__ == "__main__":
    main()
