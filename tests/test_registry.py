import pytest

from calib.core.registry import Registry


def test_a_key_is_registered_once():
    tools = Registry[int]("tool")
    tools.add("saw", 1)
    with pytest.raises(ValueError, match="tool 'saw' is registered twice"):
        tools.add("saw", 2)
    assert dict(tools) == {"saw": 1}


def test_an_unknown_key_names_the_known_ones():
    tools = Registry[int]("tool")
    tools.add("saw", 1)
    with pytest.raises(KeyError, match=r"tool must be one of 'saw', got 'axe'\."):
        tools["axe"]
    assert "axe" not in tools
