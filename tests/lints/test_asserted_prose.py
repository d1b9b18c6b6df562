"""Tests assert facts and codes: sentences are kept texts (docs/contributing.md)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
# A changed word broke 11 of 99 tests of one file, so no more asserts may hold prose than today.
MAX_ASSERTS_WITH_PROSE = 85
THREE_WORDS = re.compile(r"(?<![\w./=_-])(?:[A-Za-z][A-Za-z'’-]*[,.:;]? ){2}[A-Za-z][A-Za-z'’-]*")
# Arguments of these calls are compared; those of others are inputs.
COMPARING = {"startswith", "endswith", "count", "index", "fullmatch", "search", "any", "all", "set"}


def called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def strings(node: ast.AST) -> Iterator[str]:
    """Compared strings. Keys of a dict and of a subscript are names."""
    if isinstance(node, ast.Constant):
        yield from (node.value,) if isinstance(node.value, str) else ()
    elif isinstance(node, ast.JoinedStr):
        yield "".join(
            part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    elif isinstance(node, ast.Subscript):
        yield from strings(node.value)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from strings(value)
    elif isinstance(node, ast.Call) and called(node) not in COMPARING:
        yield from strings(node.func)
    else:
        for child in ast.iter_child_nodes(node):
            yield from strings(child)


def compared(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield node.test
        elif isinstance(node, ast.Call) and called(node) in ("raises", "warns"):
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "match")


def asserts_with_prose(code: str) -> int:
    return sum(any(map(THREE_WORDS.search, strings(node))) for node in compared(ast.parse(code)))


def test_prose_in_asserts_is_counted():
    assert asserts_with_prose('assert said == "This is wrong."') == 1
    assert asserts_with_prose('with pytest.raises(E, match="This is wrong"): pass') == 1
    assert asserts_with_prose('assert read("This is wrong.").code == "empty"') == 0


def test_no_more_asserts_hold_prose_than_today():
    counts = {
        path.relative_to(TESTS).as_posix(): asserts_with_prose(path.read_text(encoding="utf-8"))
        for path in sorted(TESTS.rglob("*.py"))
    }
    assert sum(counts.values()) <= MAX_ASSERTS_WITH_PROSE, {k: n for k, n in counts.items() if n}
