"""Values of a control for tests, taken from its declaration."""

from typing import Any

from calib.ui.session.choice import Choice
from calib.ui.session.choices import CHOICES


def cases(choice: Choice[Any]) -> tuple[Any, ...]:
    """Values other than the default that its address can hold. Empty: the data decide them."""
    on = (True, False) if isinstance(choice.default, bool) else ()
    values = on or choice.values.options or choice.values.bounds
    if isinstance(choice.default, tuple):
        values = tuple((value,) for value in values)
    return tuple(value for value in values if value != choice.default and _is_kept(choice, value))


def _is_kept(choice: Choice[Any], value: Any) -> bool:
    # The values of a widget may have their own scale, such as powers of ten, which the address does
    # not use.
    try:
        return bool(choice.values.read(choice.values.write(value)) == value)
    except ValueError:
        return False


# This has one changed value of every choice whose declaration gives one.
ANY_CHANGE = {key: found[0] for key, choice in CHOICES.items() if (found := cases(choice))}
