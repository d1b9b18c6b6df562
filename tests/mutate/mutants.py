"""Every place of a module where one operator, constant or result can be another one."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MUTATED = (
    "calib/numerics",
    "calib/uncertainty",
    "calib/metrics",
    "calib/calibrators",
    "calib/analysis/miscalibration.py",
    "calib/analysis/verdict.py",
    "calib/analysis/recommendation.py",
    "calib/analysis/slices",
    "calib/reports/contents/disclosure.py",
)
# Each has one partner: the nearest mistake that a person would make.
PARTNERS = (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.And, ast.Or),
)
NAMES = (("min", "max"), ("minimum", "maximum"), ("any", "all"), ("floor", "ceil"))
OTHER = {a: b for pair in (*PARTNERS, *NAMES) for a, b in (pair, pair[::-1])}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed place: of the changeable places of the file the `number`-th."""

    path: str
    number: int
    line: int
    before: str
    after: str
    lines: tuple[int, ...]  # Tests that execute none of these lines cannot fail.

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before}  ->  {self.after}"


def mutants(path: str) -> list[Mutant]:
    """All mutants of a file, in its order."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    lines = _lines(tree)
    return [
        Mutant(path, number, at.lineno, ast.unparse(at), ast.unparse(changed(at)), tuple(lines[at]))
        for number, at in enumerate(_places(tree))
    ]


def mutated(source: str, number: int) -> ast.Module:
    """The module with its `number`-th place changed."""
    tree = ast.parse(source)
    place = list(_places(tree))[number]
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is place:
                setattr(parent, field, changed(place))
            elif isinstance(value, list) and any(one is place for one in value):
                setattr(parent, field, [changed(one) if one is place else one for one in value])
    return ast.fix_missing_locations(tree)


def changed(node: ast.AST) -> ast.AST:
    """The node as somebody could have written it by mistake."""
    new = copy.copy(node)
    match new:
        case ast.Compare(ops=[first, *rest]):
            new.ops = [OTHER[type(first)](), *rest]
        case ast.BinOp() | ast.BoolOp():
            new.op = OTHER[type(new.op)]()
        case ast.AugAssign():
            new.op = OTHER[type(new.op)]()
        case ast.UnaryOp():
            return new.operand
        case ast.Constant():
            new.value = not new.value if isinstance(new.value, bool) else new.value + 1
        case ast.Name():
            new.id = OTHER[new.id]
        case ast.Attribute():
            new.attr = OTHER[new.attr]
        case ast.Return():
            new.value = ast.Constant(None)
    return new


def _places(node: ast.AST) -> Iterator[ast.AST]:
    if _changeable(node):
        yield node
    for field, value in ast.iter_fields(node):
        if field in {"decorator_list", "annotation", "returns", "exc", "msg"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            # strict= of zip only promises that both have the same length.
            if isinstance(child, ast.AST) and getattr(child, "arg", None) != "strict":
                yield from _places(child)


def _lines(tree: ast.AST) -> dict[ast.AST, range | set[int]]:
    """The lines of each node's statement; where that runs on import only, those that may use it.

    A default is used by its function, a constant of the module by any function.
    """
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    bodies = [range(one.body[0].lineno, (one.end_lineno or 0) + 1) for one in functions]
    lines: dict[ast.AST, range | set[int]] = dict.fromkeys(ast.walk(tree), set().union(*bodies))
    # Inner functions come last, so their lines replace those of outer functions.
    for function, body in zip(functions, bodies, strict=True):
        lines |= dict.fromkeys(ast.walk(function.args), body)
        for node in (node for statement in function.body for node in ast.walk(statement)):
            if isinstance(node, ast.stmt):
                lines |= dict.fromkeys(ast.walk(node), _head(node))
    return lines


def _head(statement: ast.stmt) -> range:
    """The lines of a statement without those inside of it."""
    inside = getattr(statement, "body", None)
    end = inside[0].lineno - 1 if inside else statement.end_lineno or 0
    return range(statement.lineno, max(statement.lineno, end) + 1)


def _changeable(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[first, *_]):
            return type(first) in OTHER
        case ast.BinOp(op=op, left=left):
            return type(op) in OTHER and not isinstance(left, ast.Constant | ast.JoinedStr)
        case ast.BoolOp():
            return True
        case ast.AugAssign(op=op):
            return type(op) in OTHER
        case ast.UnaryOp(op=op):
            return isinstance(op, ast.Not | ast.USub)
        case ast.Constant(value=value):
            return isinstance(value, bool | int | float)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in OTHER
        case ast.Return(value=value):
            return value is not None and not isinstance(value, ast.Constant)
    return False
