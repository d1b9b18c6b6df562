"""Values that are made when they are looked at."""

import pytest

from calib.analysis.run import LazyMapping


def test_only_what_is_looked_at_is_made_and_made_once():
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key.upper()

    values = LazyMapping(["b", "a"], make)
    assert list(values) == ["b", "a"]
    assert len(values) == 2
    assert "a" in values
    assert made == []
    assert values["a"] == values["a"] == "A"
    assert made == ["a"]
    assert dict(values) == {"b": "B", "a": "A"}
    assert made == ["a", "b"]


def test_an_unknown_key_is_refused_as_in_a_dictionary():
    values = LazyMapping(["a"], str.upper)
    with pytest.raises(KeyError):
        values["b"]
    assert values.get("b") is None
