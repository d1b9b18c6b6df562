"""How modules are written: who imports whom, and where numbers become text."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
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


def test_no_modules_import_each_other_in_functions_neither():
    graph = {module: set(imported(module)) & FILES.keys() - {module} for module in FILES}
    assert sum(map(len, graph.values())) > 500
    assert circles(graph) == set()


def test_no_other_module_uses_what_is_not_documented():
    public = {"streamlit", "streamlit.delta_generator", "streamlit.testing.v1"}
    paths = [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(ROOT / "calib").rglob("*.py")]
    private_imports = []
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                # A name of the package itself is one of its modules.
                inside = {f"streamlit.{alias.name}" for alias in node.names}
                modules = inside if node.module == "streamlit" else {node.module or ""}
            else:
                continue
            if any(name.partition(".")[0] == "streamlit" for name in modules - public):
                private_imports.append(path.relative_to(ROOT).as_posix())
    assert set(private_imports) == {"calib/ui/streamlit_private.py"}


# These modules format numbers for machines, or for formulas and axes, which have their own rules.
OTHERS = {
    *(
        "calib/ui/session/links.py",
        "calib/ui/controls/widgets.py",
        "calib/ui/pages/slices/classes.py",
    ),
    *("calib/figures/axes.py", "calib/figures/slice_rows.py", "calib/figures/svg.py"),
    *(
        "calib/reports/contents/codec.py",
        "calib/reports/render/archive.py",
        "calib/reports/verify.py",
    ),
    "calib/cli/check.py",
    *("calib/analysis/slices/calibration.py", "calib/data/slicing.py"),
    "calib/analysis/periods/cutting.py",
    "calib/text.py",
}
ROOMS = ("ui", "figures", "reports", "store", "cli", "loading", "analysis", "matrices", "crossfit")


def test_numbers_become_text_in_one_place():
    paths = [path for room in ROOMS for path in (ROOT / "calib" / room).rglob("*.py")]
    formats = [
        f"{name}:{node.lineno} {spec}"
        for path in [*paths, ROOT / "app.py", *(ROOT / "pages").glob("*.py")]
        if (name := path.relative_to(ROOT).as_posix()) not in OTHERS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FormattedValue)
        and node.format_spec is not None
        # A whole number with commas and a setting as it was given are not rounded.
        and (spec := ast.unparse(node.format_spec)[2:-1]) not in (",", "g")
        and spec[-1:] in "fge%"
        and "%Y" not in spec
    ]
    assert formats == []
