"""No modules of the library import each other in a circle, in functions neither."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "calib").rglob("*.py"))
}


def imported(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in FILES else node.module


def circles(graph: dict[str, set[str]]) -> set[tuple[str, ...]]:
    """Modules that reach each other, each circle once."""
    reached = {}
    for module in graph:
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            new = graph[waiting.pop()] - seen
            seen |= new
            waiting.extend(new)
        reached[module] = seen
    return {
        tuple(sorted(other for other in imported if module in reached[other]))
        for module, imported in reached.items()
        if module in imported
    }


def test_circles_are_counted():
    straight = {"a": {"b"}, "b": {"c"}, "c": set(), "d": {"a"}}
    assert circles(straight) == set()
    assert circles(straight | {"c": {"a"}}) == {("a", "b", "c")}


def test_no_modules_import_each_other():
    graph = {module: set(imported(module)) & FILES.keys() - {module} for module in FILES}
    assert sum(map(len, graph.values())) > 500
    assert circles(graph) == set()
