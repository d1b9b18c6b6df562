"""Forms as text: expressions of a formula in the syntax of a language."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from calib.calibrators.forms import Operations

# An expression has the rank of its last operation; higher ranks bind more tightly.
CHOICE, COMPARISON, SUM, PRODUCT, ATOM = range(5)
# Entries of lists are variables too, and names in the quotes of a database.
VARIABLE = re.compile(r"""["`\[]?[A-Za-z_]\w*["`\]]?(\[\d+\])?""")
MAX_POWER = 700.0  # Beyond it e^x overflows, and e^-x becomes 0.


def _operation(sign: str, rank: int, *, swapped: bool = False) -> Callable[..., Text]:
    def write(this: Text, other: Text | float) -> Text:
        operand = other if isinstance(other, Text) else this.language.constant(other)
        left, right = (operand, this) if swapped else (this, operand)
        symbol, last = sign, right.text
        if right.rank <= rank:
            last = f"({last})"
        elif last.startswith("-") and sign in "+-":
            symbol, last = "-" if sign == "+" else "+", last[1:]
        elif last.startswith("-"):
            last = f"({last})"
        first = f"({left.text})" if left.rank < rank else left.text
        return Text(f"{first} {symbol} {last}", rank, this.language)

    return write


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """An expression of a language."""

    text: str
    rank: int
    language: Language

    __add__, __radd__ = _operation("+", SUM), _operation("+", SUM, swapped=True)
    __sub__, __rsub__ = _operation("-", SUM), _operation("-", SUM, swapped=True)
    __mul__, __rmul__ = _operation("*", PRODUCT), _operation("*", PRODUCT, swapped=True)
    __truediv__, __rtruediv__ = _operation("/", PRODUCT), _operation("/", PRODUCT, swapped=True)
    __lt__, __gt__ = _operation("<", COMPARISON), _operation(">", COMPARISON)

    def __str__(self) -> str:
        return self.text


class Language(Operations):
    """Operations on text. A subclass has the names, choices and functions of its language."""

    log_name: ClassVar[str]
    exp_name: ClassVar[str]
    greatest_name: ClassVar[str]

    def atom(self, text: str) -> Text:
        return Text(text, ATOM, self)

    def let(self, name: str, *columns: Text) -> Sequence[Text]:
        if all(VARIABLE.fullmatch(column.text) for column in columns):
            return columns
        return self.assign(name, columns)

    def assign(self, name: str, columns: Sequence[Text]) -> Sequence[Text]:
        """Give names to expressions, so that they are computed once."""
        raise NotImplementedError

    def constant(self, value: float) -> Text:
        """A whole number of a formula, such as the 1 in 1 - s, or a fitted number."""
        return self.atom(str(value) if isinstance(value, int) else self.number(value))

    def number(self, value: float) -> str:
        """A fitted number, which reads back as the same float."""
        return repr(value)

    def largest(self, columns: Sequence[Text]) -> Text:
        return self.atom(f"{self.greatest_name}({', '.join(map(str, columns))})")

    def log(self, x: Text) -> Text:
        return self.atom(f"{self.log_name}({x})")

    def logit(self, x: Text) -> Text:
        return self.log(x / (1 - x))

    def exp(self, x: Text) -> Text:
        return self.atom(f"{self.exp_name}({x})")

    def sigmoid(self, x: Text, bound: float) -> Text:
        if bound > MAX_POWER:
            (x,) = self.let("x", x)
            (x,) = self.let("x", self.clip(x, -MAX_POWER, MAX_POWER))
        negative = f"-{x}" if x.rank == ATOM else f"-({x})"
        return 1 / (1 + self.atom(f"{self.exp_name}({negative})"))


def polynomial(powers: Sequence[Text], z: Text) -> Text:
    """Horner's rule; constant term first."""
    return reduce(lambda value, power: value * z + power, reversed(powers))
