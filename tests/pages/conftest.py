"""Tests of pages run in one process, and compute once what they share."""

from collections.abc import Callable, Iterator
from functools import cache, partialmethod
from typing import Any
from unittest.mock import MagicMock

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import app_test, local_script_runner

from calib.ui.controls import uploaders
from calib.ui.session import session, state
from calib.ui.session.memo import Memo, Results
from tests.once import computed_once  # noqa: F401

# An analysis takes about 30 MB.
MAX_KEPT_BYTES = 500e6


@pytest.fixture(autouse=True)
def read_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no process for each file: it takes seconds, and tests/loading/test_apart.py has it."""
    if request.path.name != "test_server.py":
        monkeypatch.setattr(uploaders, "is_harmless", lambda *_: True)


@pytest.fixture(scope="session")
def scripts() -> ScriptCache:
    return ScriptCache()


@pytest.fixture(scope="session")
def components() -> Callable[..., Any]:
    return cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(scope="module", autouse=True)
def cheap_sessions(scripts: ScriptCache, components: Callable[..., Any]) -> Iterator[None]:
    """Do once what each run of an `AppTest` does anew: it is the same for all of them.

    Components of Streamlit are looked for in the installed packages, the pages are compiled, and a
    stand-in for the server is made. Each `AppTest` is a session of its own, and to search a process
    with all tests for the memory of those that were left takes 0.06 seconds; nor is what is free
    given back to the system.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", components)
        patch.setattr(app_test, "ScriptCache", lambda: scripts)
        patch.setattr(app_test, "MagicMock", cache(MagicMock))
        patch.setattr(local_script_runner, "require_widgets_deltas", _wait)
        for name in ("give_back", "trim"):
            patch.setattr(state, name, lambda: None)
        yield


def _wait(runner: local_script_runner.LocalScriptRunner, timeout: float) -> None:
    """Wait for the end of a run; Streamlit asks for it a thousand times per second."""
    runner._script_thread.join(timeout)
    if not runner.script_stopped():
        runner.request_stop()
        raise RuntimeError(f"The run took longer than {timeout} seconds.")


class OfAllTests(Memo):
    """What is made of rows, once for all tests; not what lies in a source, or who may open it."""

    def private(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)


@pytest.fixture(scope="session")
def memo() -> Memo:
    return OfAllTests(Results(MAX_KEPT_BYTES))


@pytest.fixture(autouse=True)
def one_memo(memo: Memo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute what several tests show once: results are frozen, and found by rows and settings."""
    begin = session.Session.__init__
    monkeypatch.setattr(session.Session, "__init__", partialmethod(begin, memo=memo))
