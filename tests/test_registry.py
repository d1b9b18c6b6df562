from calib.core.registry import Registry


def test_a_key_is_registered_once(texts):
    tools = Registry[int]("tool")
    tools.add("saw", 1)
    with texts.raises(ValueError):
        tools.add("saw", 2)
    assert dict(tools) == {"saw": 1}


def test_an_unknown_key_names_the_known_ones(texts):
    tools = Registry[int]("tool")
    tools.add("saw", 1)
    with texts.raises(KeyError):
        tools["axe"]
    assert "axe" not in tools
