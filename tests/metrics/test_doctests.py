"""Every entry of the registry is documented, public, and runs its example.

Pytest's own collection misses these examples: the decorator's facade hides where they come from.
"""

import doctest
import inspect

import pytest

from calib import metrics
from calib.metrics import METRICS


@pytest.mark.parametrize("key", METRICS)
def test_example(key):
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(
        METRICS[key].compute, key, globs={**vars(metrics), key: getattr(metrics, key)}
    )
    result = doctest.DocTestRunner().run(example)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("key", METRICS)
def test_documentation(key):
    entry = METRICS[key]
    assert callable(getattr(metrics, key))
    assert entry.label
    assert entry.meaning.endswith(".")
    assert "\n" not in entry.meaning
    text = inspect.getdoc(getattr(metrics, key))
    for section in ("Parameters", "Returns", "Examples"):
        assert f"\n{section}\n---" in text
    for name in inspect.signature(getattr(metrics, key)).parameters:
        assert name in text
