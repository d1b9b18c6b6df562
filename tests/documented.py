"""What a docstring says about the parameters of a calibrator."""

import ast
import inspect
import re
from typing import Any

PARAMETER = re.compile(r"^(\w+) : .*?(?:, default (.+))?$", re.MULTILINE)


def documented_defaults(made: type) -> dict[str, Any]:
    """Defaults by parameter, from lines such as "n_bins : int, default 15"."""
    _, _, after = (inspect.getdoc(made) or "").partition("\nParameters\n----------\n")
    lines = PARAMETER.findall(after.partition("\n\n")[0])
    undocumented = [name for name, default in lines if not default]
    assert not undocumented, f"{made.__name__} says no default of {undocumented}"
    return {name: ast.literal_eval(default) for name, default in lines}
