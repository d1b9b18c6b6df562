"""A person's choice, declared once. Its link, widget, chip and reset follow from that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from calib.crossfit.settings import Settings
from calib.text import level as level_words
from calib.ui.session.page_list import PAGES

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Values(Generic[T]):
    """The allowed values, their text in an address, and their names in a widget."""

    # Reads the text of an address. Its ValueError says what the text must be.
    read: Callable[[str], T]
    write: Callable[[T], str] = str
    options: tuple[T, ...] = ()  # A widget offers these, unless the data decide it.
    # The smallest and the largest number that a widget offers, on the scale of the widget.
    bounds: tuple[T, ...] = ()
    name: Callable[[Any], str] = str  # The page calls an option so.


def one_of(
    *options: str, offered: tuple[str, ...] | None = None, name: Callable[[Any], str] = str
) -> Values[Any]:

    def read(text: str) -> str:
        if text not in options:
            raise ValueError(f"it must be one of {', '.join(filter(None, options))}")
        return text

    return Values(read, options=options if offered is None else offered, name=name)


def flag() -> Values[bool]:
    words = one_of("0", "1")
    return Values(lambda text: words.read(text) == "1", lambda on: "1" if on else "0")


def whole(low: int, high: int) -> Values[int]:

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError("it must be a whole number") from None
        return _within(value, low, high)

    return Values(read, bounds=(low, high))


def number(
    low: float,
    high: float,
    write: Callable[[float], str] = "{:.6g}".format,
    offered: tuple[float, float] | None = None,
    options: tuple[Any, ...] = (),
    name: Callable[[Any], str] = str,
) -> Values[Any]:
    bounds = () if options else offered or (low, high)
    return Values(lambda text: _within(_number(text), low, high), write, options, bounds, name)


def level(*options: float) -> Values[float]:
    def read(text: str) -> float:
        if (value := _number(text)) not in options:
            raise ValueError(f"it must be one of {', '.join(map(str, options))}")
        return value

    return Values(read, options=options, name=level_words)


def several(one: Values[Any]) -> Values[tuple[Any, ...]]:
    return Values(
        lambda text: tuple(one.read(part) for part in text.split(".")),
        lambda values: ".".join(map(one.write, values)),
        options=one.options,
        name=one.name,
    )


def stretch(low: float, high: float) -> Values[tuple[float, ...]]:
    """Two exact numbers, the lower one first, or nothing."""

    def read(text: str) -> tuple[float, ...]:
        ends = tuple(_within(_number(part), low, high) for part in text.split("~"))
        if len(ends) != 2 or ends[0] >= ends[1]:
            raise ValueError("it must be two numbers, the lower one first, such as 0.25~0.5")
        return ends

    return Values(read, lambda ends: "~".join(map(repr, ends)))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("it must be a number") from None


def _within(value: T, low: Any, high: Any) -> T:
    if not low <= value <= high:
        raise ValueError(f"it must be between {low:g} and {high:g}")
    return value


# Facts about what is shown that decide whether a choice changes anything.
Fact = Literal[
    "in a bin",  # A bin or a range of scores is chosen.
    "several models",
    "draws folds",  # The data have neither folds nor test rows.
    "sets bins",  # The number of bins is not automatic.
    "uses epsilon",  # A chosen method is fitted on the compact logit.
    "has columns",  # The data have columns to slice by.
    "matrix with columns",  # Slices are classes or values of a column.
    "by class",  # The page Slices shows classes.
]


def on(*titles: str, when: Fact | None = None) -> dict[str, Fact | None]:
    """Pages on which a choice acts: always, or when a fact holds."""
    unknown = set(titles) - set(PAGES)
    if unknown:
        raise ValueError(f"pages must be among {', '.join(PAGES)}, got {unknown.pop()!r}.")
    return dict.fromkeys(titles, when)


@dataclass(frozen=True, eq=False, kw_only=True)
class Choice(Generic[T]):
    # The key of the widget. If an analysis depends on the choice, also its name in `Settings`.
    key: str
    # The name in addresses. It is short, and never changes, because saved addresses must keep their
    # meaning.
    link: str
    default: T
    values: Values[T]
    label: str
    chip: str | Callable[[T], str]  # The text of the chip that a changed value has.
    acts_on: Mapping[str, Fact | None]  # `on` makes it.
    widget: Callable[..., Any]
    help: str | None = None  # The tooltip of the widget.
    # Converts the value to that of the widget, and back.
    shown: Callable[[T], Any] = lambda value: list(value) if isinstance(value, tuple) else value
    taken: Callable[[Any], Any] = lambda value: value
    # The keys of choices that are reset when this one changes, because they would mean something
    # else.
    forgets: tuple[str, ...] = ()

    @property
    def is_setting(self) -> bool:
        """Whether the analysis depends on it, and not only the charts."""
        return self.key in Settings.defaults()

    def acts(self, page: str, facts: Iterable[Fact]) -> bool:
        """Whether another value would change what a page shows."""
        return page in self.acts_on and self.acts_on[page] in (None, *facts)

    def chip_text(self, value: T) -> str:
        text = self.chip(value) if callable(self.chip) else self.chip.format(value)
        # A capital ε would be another letter.
        return text[:1].upper() + text[1:] if text[:1].isascii() else text

    def take(self, answer: Any) -> T:
        """The value of a widget's answer, exactly as a link would restore it."""
        if answer is None:
            return self.default
        value: T = self.taken(tuple(answer) if isinstance(answer, list) else answer)
        return self.values.read(self.values.write(value)) if isinstance(value, float) else value

    def among(self, value: T, options: Iterable[Any]) -> T:
        """The part of a value that is among the options, or the first option for a single value."""
        offered = tuple(options)
        if isinstance(value, tuple):
            return tuple(option for option in offered if option in value)  # type: ignore[return-value]
        return value if value in offered else offered[0]
