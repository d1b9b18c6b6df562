"""Recorded steps as expressions of a language, which says only how it writes each operation."""

from __future__ import annotations

from calib.exports.recording import CONDITIONS, INFIX, Node, Program


class Expressions:
    """Expressions of one program; a subclass is a language."""

    def __init__(self, program: Program, inputs: tuple[str, ...]) -> None:
        self.program = program
        self._inputs = inputs
        self._names = {id(node): f"x{i}" for i, node in enumerate(program.named, 1)}

    def number(self, value: float) -> str:
        """A constant that reads back as the same float."""
        return repr(value)

    def where(self, condition: str, yes: str, no: str) -> str:
        """The choice between two values."""
        raise NotImplementedError

    def call(self, op: str, argument: str) -> str:
        """ "floor", "exponent" or "power" of an argument."""
        raise NotImplementedError

    def pieces(self, node: Node, argument: str) -> str:
        """Polynomials by pieces at a name."""
        raise NotImplementedError

    def name_of(self, node: Node) -> str:
        """The name of a named node."""
        return self._names[id(node)]

    def of(self, node: Node) -> str:
        """The node by its name, or as an expression."""
        return self._names.get(id(node)) or self.whole(node)

    def whole(self, node: Node) -> str:
        """The expression of a node, whether it has a name or not."""
        if node.op == "input":
            return self._inputs[int(node.value)]
        if node.op == "constant":
            return self.number(node.value)
        arguments = [self.of(argument) for argument in node.args]
        if node.op in INFIX:
            text = f"{arguments[0]} {INFIX[node.op]} {arguments[1]}"
            return text if node.op in CONDITIONS else f"({text})"
        if node.op == "where":
            return self.where(*arguments)
        if node.op == "pieces":
            return self.pieces(node, arguments[0])
        return self.call(node.op, arguments[0])
