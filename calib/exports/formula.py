"""Forms as text: expressions of a formula in the syntax of a language."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from calib.calibrators.forms import Form, Operations, RowsForm, Within
from calib.numerics.splines import Pieces

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


class Notation(Language):
    """A formula for a person: five digits, and a name for each curve of pieces."""

    log_name, exp_name, greatest_name = "ln", "exp", "max"

    def __init__(self) -> None:
        self.curves: list[str] = []

    def let(self, name: str, *columns: Text) -> Sequence[Text]:  # noqa: ARG002
        return columns

    def number(self, value: float) -> str:
        text = f"{value:.5g}"
        return f"{value:.15g}" if text == "1" else text  # A bound such as 0.999999 is not 1.

    def clip(self, x: Text, low: float, high: float) -> Text:
        return self.atom(f"min(max({x}, {self.constant(low)}), {self.constant(high)})")

    def choose(self, condition: Text, yes: Text | float, no: Text | float) -> Text:
        first, last = (e if isinstance(e, Text) else self.constant(e) for e in (yes, no))
        return self.atom(f"({first} if {condition} else {last})")

    def logit(self, x: Text) -> Text:
        return self.atom(f"logit({x})")

    def sigmoid(self, x: Text, bound: float) -> Text:  # noqa: ARG002
        return self.atom(f"sigmoid({x})")

    def pieces(self, pieces: Pieces, x: Text) -> Text:
        n, powers = pieces.coefficients.shape
        name = f"f{len(self.curves) + 1}"
        self.curves.append(f"; {name} has {n:,} pieces of degree {powers - 1}")
        return self.atom(f"{name}({x})")


def formula_of(form: Form | RowsForm, n_classes: int) -> str:
    """The function of a form in a line. It follows from the numbers of the form alone.

    >>> from calib.calibrators.forms import SigmoidOfFeatures
    >>> formula_of(SigmoidOfFeatures(-1.0, (2.0,), ("logit s",)), 0)
    'sigmoid(2 logit(s) - 1)'
    """
    if isinstance(form, RowsForm):
        return f"{form.kind.replace('_', ' ')} of {n_classes:,} classes"
    do = Notation()
    score = do.atom("s")
    if isinstance(form, Within):
        score, form = do.clip(score, *form.ends), form.inner
    value = form.finish(do, form.of(do, score))
    return str(value).replace(" * ", " ") + "".join(do.curves)
