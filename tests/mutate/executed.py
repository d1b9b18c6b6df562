"""Which tests execute a line: every test file runs once, unchanged, under coverage.py."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import pytest
from coverage import Coverage, CoverageData

from tests.mutate.forks import in_forks, run_pytest
from tests.mutate.mutants import MUTATED

KEPT = Path(".mutate")  # The folder has one JSON file per test file.
# They show a changed number late, or start a browser, a server or an engine.
NOT_ASKED = {
    *("browser", "cli", "fuzz", "lints", "mutate", "pages", "reproduce", "scanning", "store", "ui"),
    "test_postgresql.py",
}
EXAMPLES = "calib"  # The folder has the examples of docstrings.
SHARED = ""  # Lines of imports and fixtures run for every test of the file.
MAX_TEST_SECONDS = 60  # Each mutant gets at most this much time of tests.


class Recorder:
    """A plugin of pytest: each test's seconds, and the lines that it executes."""

    def __init__(self, coverage: Coverage):
        self.coverage = coverage
        self.seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item):
        self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.coverage.switch_context(SHARED)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration


class Executed:
    """The tests of every line, from the files that `collect` keeps."""

    def __init__(self, kept: Sequence[Path]):
        self.tests: list[str] = []
        self.seconds: list[float] = []
        self.lines: dict[tuple[str, int], set[int]] = defaultdict(set)  # Tests by line.
        for file in kept:
            record = json.loads(file.read_text(encoding="utf-8"))
            own = range(len(self.tests), len(self.tests) + len(record["seconds"]))
            numbers = dict(zip(record["seconds"], own, strict=True))
            self.tests += record["seconds"]
            self.seconds += record["seconds"].values()
            for test, ran in record["lines"].items():
                executed = own if test == SHARED else [numbers[test]]
                for path, lines in ran.items():
                    for line in lines:
                        self.lines[path, line].update(executed)

    def tests_of(self, path: str, lines: Sequence[int]) -> list[list[str]]:
        """The tests that execute one of the lines, file by file, fastest first."""
        tests = set().union(*(self.lines[path, line] for line in lines))
        fastest = sorted(tests, key=self.seconds.__getitem__)
        spent = accumulate(self.seconds[test] for test in fastest)
        files = defaultdict(list)
        for test, seconds in zip(fastest, spent, strict=True):
            if seconds < MAX_TEST_SECONDS:
                files[self.tests[test].partition("::")[0]].append(test)
        by_cost = sorted(files.values(), key=lambda file: sum(self.seconds[test] for test in file))
        return [[self.tests[test] for test in file] for file in by_cost]


def collect(jobs: int) -> Executed:
    """Run the test files that have not run since a file of the library or a helper changed."""
    kept = {test: KEPT / f"{_key(test)}.json" for test in (*_test_files(), EXAMPLES)}
    KEPT.mkdir(exist_ok=True)
    for old in set(KEPT.glob("*.json")) - set(kept.values()):
        old.unlink()
    missing = [test for test in kept if not kept[test].exists()]
    runs = in_forks(missing, lambda test: _record(test, kept[test]), jobs)
    if failed := [test for test, code in runs if code != 0]:
        # Each mutant would look noticed.
        raise SystemExit(f"These fail without any mutant, mend them first: {', '.join(failed)}")
    return Executed(list(kept.values()))


def _test_files() -> Iterator[str]:
    for path in sorted(Path("tests").rglob("test_*.py")):
        if not set(path.parts) & NOT_ASKED:
            yield str(path)


def _key(test: str) -> str:
    """A digest of the test file, the helpers of tests and the library."""
    files = sorted(Path("calib").rglob("*.py"))
    files += [path for path in sorted(Path("tests").rglob("*.py")) if path.stem[:5] != "test_"]
    files += [Path(test)] if test != EXAMPLES else []
    digest = hashlib.sha256(test.encode())
    for file in files:
        if not set(file.parts) & NOT_ASKED:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:32]


def _record(test: str, kept: Path) -> int:
    """Run one test file and keep what it executed."""
    coverage = Coverage(data_file=None, include=[*MUTATED, *(f"{place}/*" for place in MUTATED)])
    coverage.start()
    coverage.switch_context(SHARED)
    recorder = Recorder(coverage)
    code = run_pytest([test], recorder)
    coverage.stop()
    if code == 0:
        record = {"seconds": recorder.seconds, "lines": _lines(coverage.get_data())}
        kept.write_text(json.dumps(record), encoding="utf-8")
    return code


def _lines(data: CoverageData) -> dict[str, dict[str, list[int]]]:
    """Per test, the lines that it executed of every file."""
    lines: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for file in data.measured_files():
        path = str(Path(file).relative_to(Path.cwd()))
        for line, tests in data.contexts_by_lineno(file).items():
            for test in tests:
                lines[test][path].append(line)
    return lines
