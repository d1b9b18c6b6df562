"""What a form does with a column, recorded as steps, and these as expressions of a language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from calib.calibrators.forms import Form, Operations, RowsForm, clip, sum_of, within
from calib.numerics.elementary import LOG2_E, MAX_POWER, MIN_POWER, reduced_exp, reduced_log
from calib.numerics.splines import Pieces

# Operations by the name of a node.
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "gt": ">"}
CONDITIONS = ("lt", "gt")
DEEPEST = 12  # of one printed expression


def _operation(op: str, *, swapped: bool = False) -> Callable[[Node, Node | float], Node]:
    def record_it(node: Node, other: Node | float) -> Node:
        assert node.recorder is not None
        return node.recorder.node(op, *((other, node) if swapped else (node, other)))

    return record_it


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation on earlier nodes; a float is a constant of its own value."""

    # "input", "constant", "where", "floor", "exponent", "power", "pieces" or a key of `INFIX`.
    # "exponent" is the k with x / 2^k in [0.707, 1.414), "power" is 2^k.
    op: str
    args: tuple[Node, ...] = ()
    value: float = 0.0  # of a constant; the number of an input
    pieces: Pieces | None = None
    recorder: Recorder | None = field(default=None, repr=False)

    __add__, __radd__ = _operation("add"), _operation("add", swapped=True)
    __sub__, __rsub__ = _operation("sub"), _operation("sub", swapped=True)
    __truediv__, __rtruediv__ = _operation("div"), _operation("div", swapped=True)
    __lt__, __gt__ = _operation("lt"), _operation("gt")

    def __mul__(self, other: Node | float) -> Node:
        assert self.recorder is not None
        same = isinstance(other, float) and other == 1.0
        return self if same else self.recorder.node("mul", self, other)


class Recorder(Operations):
    """The operations of forms on nodes; the same operation on the same nodes is one node."""

    def __init__(self) -> None:
        self._nodes: dict[object, Node] = {}

    def node(self, op: str, *args: Node | float, pieces: Pieces | None = None) -> Node:
        nodes = tuple(a if isinstance(a, Node) else self._leaf("constant", float(a)) for a in args)
        key = (op, *map(id, nodes), id(pieces))
        return self._nodes.setdefault(key, Node(op, nodes, 0.0, pieces, self))

    def input(self, number: int) -> Node:
        return self._leaf("input", float(number))

    def _leaf(self, op: str, value: float) -> Node:
        return self._nodes.setdefault((op, value), Node(op, (), value, None, self))

    def where(self, condition: Node, yes: Node | float, no: Node | float) -> Node:
        return self.node("where", condition, yes, no)

    def log(self, x: Node) -> Node:
        """Natural logarithm by basic operations, as `calib.numerics.elementary.log` takes it."""
        exponent = self.node("exponent", x)
        mantissa: Node = x * self.node("power", 0.0 - exponent)
        result: Node = reduced_log(mantissa, exponent)
        return result

    def exp(self, x: Node) -> Node:
        """e^x by basic operations, as `calib.numerics.elementary.exp` takes it."""
        inner: Node = clip(self, x, MIN_POWER, MAX_POWER)
        exponent = self.node("floor", inner * LOG2_E + 0.5)
        power: Node = reduced_exp(inner, exponent) * self.node("power", exponent)
        return power

    def pieces(self, pieces: Pieces, x: Node) -> Node:
        return self.node("pieces", x, pieces=pieces)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The steps from the input columns to the outputs."""

    n_inputs: int
    outputs: tuple[Node, ...]
    order: tuple[Node, ...]  # every node that the outputs need, each after its arguments
    named: tuple[Node, ...]  # those that are computed once and referred to by name, in that order


def record(form: Form | RowsForm, n_classes: int | None) -> Program:
    """The steps of a form for one score, or for a row of scores that is divided by its sum."""
    recorder = Recorder()
    if isinstance(form, Form):
        return _program(1, (within(recorder, form, recorder.input(0)),))
    row = [recorder.input(k) for k in range(n_classes or 0)]
    total = sum_of(row)
    return _program(len(row), tuple(form(recorder, [s / total for s in row])))


def _program(n_inputs: int, outputs: tuple[Node, ...]) -> Program:
    order = tuple(_ordered(outputs))
    uses = dict.fromkeys(map(id, order), 0)
    for node in order:
        for argument in node.args:
            uses[id(argument)] += 1
    looked_up = {id(node.args[0]) for node in order if node.op == "pieces"}
    named, depth = [], dict.fromkeys(map(id, order), 0)
    for node in order:
        depth[id(node)] = 1 + max((depth[id(a)] for a in node.args), default=-1)
        whole = node.op not in (*CONDITIONS, "input", "constant")
        if whole and (uses[id(node)] > 1 or depth[id(node)] > DEEPEST or id(node) in looked_up):
            named.append(node)
            depth[id(node)] = 0
    return Program(n_inputs, outputs, order, tuple(named))


def _ordered(outputs: tuple[Node, ...]) -> Iterator[Node]:
    seen: set[int] = set()
    stack = [(node, False) for node in reversed(outputs)]
    while stack:
        node, done = stack.pop()
        if done:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((argument, False) for argument in reversed(node.args))


class Expressions:
    """Expressions of one program; a subclass is a language."""

    # How "where", "floor", "exponent" and "power" are written, of their arguments.
    words: ClassVar[Mapping[str, str]] = {}

    def __init__(self, program: Program, inputs: tuple[str, ...]) -> None:
        self.program = program
        self._inputs = inputs
        self._names = {id(node): f"x{i}" for i, node in enumerate(program.named, 1)}

    def number(self, value: float) -> str:
        """A constant that reads back as the same float."""
        return repr(value)

    def pieces(self, node: Node, argument: str) -> str:
        raise NotImplementedError

    def name_of(self, node: Node) -> str:
        return self._names[id(node)]

    def of(self, node: Node) -> str:
        """The node by its name, or as an expression."""
        return self._names.get(id(node)) or self.whole(node)

    def whole(self, node: Node) -> str:
        if node.op == "input":
            return self._inputs[int(node.value)]
        if node.op == "constant":
            return self.number(node.value)
        arguments = [self.of(argument) for argument in node.args]
        if node.op in INFIX:
            text = f"{arguments[0]} {INFIX[node.op]} {arguments[1]}"
            return text if node.op in CONDITIONS else f"({text})"
        if node.op == "pieces":
            return self.pieces(node, arguments[0])
        return self.words[node.op].format(*arguments)
