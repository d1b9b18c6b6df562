"""A function with typed, documented parameters as a command, which click parses.

A parameter has a type and a line of the docstring, `name: meaning` or `name METAVAR: meaning`.
Those after `*` are options, the others arguments. A parameter can also be a dataclass of options,
whose fields are documented in the same way or declared by `calib.data.file_options.option`. A
parameter without a default is required. Its default is never passed on the command line, so that a
command can tell which options a person gave.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from datetime import date
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# These options differ from the names of their arguments.
RENAMED_OPTIONS = {
    "n_bins": "bins",
    "n_folds": "folds",
    "confidence_level": "level",
    "slices": "slice",
    "n_ranges": "ranges",
}
ARGUMENTS, OPTIONS = "Positional arguments", "Options"
NUMBER = re.compile(r"-(\d+|\d*\.\d+)")
ENTRY = re.compile(r"(?m)^(\w+)((?: [A-Z]+)*): (.*(?:\n +.*)*)\n?")
METAVARS = ((Path, "FILE"), (float, "NUMBER"), (int, "NUMBER"), (date, "DATE"), (str, "TEXT"))
EXAMPLES = "\nexamples:\n"  # From here on, a docstring stands below the options in a help text.


# Called with the path of the command, such as "calib check", with what a person gave, which it may
# change, and with what runs the command.
Invoke = Callable[[str, dict[str, Any], Callable[[], int]], int]


@dataclass(frozen=True, slots=True)
class Words:
    """What the help says about a parameter, and how its text is read, beyond its type.

    `convert` raises ValueError for a text that is not allowed. `choices` are the allowed texts,
    which a function gives where they are slow to import.
    """

    meaning: str = ""
    metavar: str = ""
    many: bool = False
    positional: bool = False
    flags: tuple[str, ...] = ()
    convert: Callable[[str], Any] | None = None
    choices: Callable[[], Iterable[str]] | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Which fields of a dataclass are options of a command."""

    only: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        return name not in self.leave_out and (not self.only or name in self.only)


class _Declared(NamedTuple):
    name: str
    hint: Any
    default: Any
    words: Words


def option_of(name: str, *, negated: bool = False) -> str:
    """The option of the command line that stands for an argument.

    >>> option_of("n_bins"), option_of("test_value"), option_of("header", negated=True)
    ('--bins', '--test-value', '--no-header')
    """
    return f"--{'no-' * negated}{RENAMED_OPTIONS.get(name, name).replace('_', '-')}"


class _Documented(click.Command):
    """A command whose help text is the docstring of a function, line by line."""

    def __init__(self, function: Callable[..., Any], **more: Any) -> None:
        self.head, self.tail = _documented(function)[0].partition(EXAMPLES)[::2]
        super().__init__(
            function.__name__.rpartition("_")[2],
            short_help=self.head.partition("\n")[0].rstrip("."),
            context_settings={
                "help_option_names": ["-h", "--help"],
                "max_content_width": sys.maxsize,  # A help text is as wide as the terminal.
            },
            **more,
        )

    def format_help_text(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"\n{self.head.rstrip()}\n")

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        if self.tail:
            formatter.write(f"{EXAMPLES}{self.tail}")


class Group(_Documented, click.Group):
    """Commands under the name of a function, whose docstring is the help text."""

    def __init__(
        self, function: Callable[..., Any], commands: Iterable[click.Command], **more: Any
    ) -> None:
        by_name = {command.name or "": command for command in commands}
        super().__init__(function, commands=by_name, no_args_is_help=False, **more)

    def list_commands(self, _: click.Context) -> list[str]:
        return list(self.commands)


class Command(_Documented):
    """A function as a command. Its parameters are the options and arguments."""

    def __init__(self, function: Callable[..., int], invoke: Invoke) -> None:
        self.function, self.invoke_with = function, invoke
        # Heads of the help, with the parameters under each.
        self.groups: dict[str, list[click.Parameter]] = {}
        self.kinds: dict[str, tuple[Any, list[str]]] = {}
        for name, hint, default, words in _of_function(function):
            kind, part = _kind_and_part(hint)
            if not (isinstance(kind, type) and is_dataclass(kind)):
                self._add(ARGUMENTS if words.positional else OPTIONS, name, hint, default, words)
                continue
            heading = " ".join(_documented(kind)[0].split()).rstrip(".")
            names = []
            for one in _of_dataclass(kind):
                if part.has(one.name):
                    names.append(one.name)
                    if one.words.meaning:
                        self._add(ARGUMENTS if one.words.positional else heading, *one)
            self.kinds[name] = kind, names
        parameters = [one for group in self.groups.values() for one in group]
        super().__init__(function, params=parameters)

    def _add(self, heading: str, *declared: Any) -> None:
        self.groups.setdefault(heading, []).append(_parameter(*declared))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            self._check_values(args)
        return super().parse_args(ctx, args)

    def _check_values(self, args: Sequence[str]) -> None:
        """Refuse to take the next option for the value of an option."""
        takes = {
            name: one.nargs
            for one in self.params
            if isinstance(one, click.Option) and not one.is_flag
            for name in one.opts
        }
        for place, word in enumerate(takewhile(lambda word: word != "--", args)):
            if word.startswith("--") and word.endswith("=--"):
                raise click.UsageError(f"The value `--` of {word[:-3]} ends the options.")
            for value in args[place + 1 : place + 1 + takes.get(word, 0)]:
                if value.startswith("-") and value != "-" and not NUMBER.fullmatch(value):
                    raise click.UsageError(
                        f"{word} needs a value, got the option {value}. Write {word}={value} if it "
                        "is the value."
                    )

    def invoke(self, ctx: click.Context) -> int:
        """Call the function with what a person gave."""
        given = {
            name: value
            for name, value in ctx.params.items()
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        }
        return self.invoke_with(ctx.command_path, given, lambda: self._call(given))

    def _call(self, given: Mapping[str, Any]) -> int:
        arguments = {}
        for name in inspect.signature(self.function).parameters:
            if name in self.kinds:
                kind, names = self.kinds[name]
                arguments[name] = kind(**{one: given[one] for one in names if one in given})
            elif name in given:
                arguments[name] = given[name]
        return self.function(**arguments)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        help_option = self.get_help_option(ctx)
        assert help_option is not None
        groups = self.groups | {OPTIONS: [*self.groups.get(OPTIONS, ()), help_option]}
        for heading, parameters in groups.items():
            records = [one.get_help_record(ctx) for one in parameters]
            if heading != ARGUMENTS:
                with formatter.section(heading):
                    formatter.write_dl([record for record in records if record is not None])


class _Option(click.Option):
    """Its values are lists, and its default and slow choices are in its help."""

    python_default: Any = None
    choices: Callable[[], Iterable[str]] | None = None

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None:
            return None
        label, meaning = record
        if self.choices is not None:
            meaning += f": {', '.join(self.choices())}"
        default = self.python_default
        if default not in (None, "", ()) and not isinstance(default, bool):
            values = default if isinstance(default, tuple) else (default,)
            shown = " ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in values)
            meaning += f" (default: {shown})"
        return label, meaning


class BadValue(click.BadParameter):
    """A value that is not allowed. The message is a whole sentence."""

    def format_message(self) -> str:
        return self.message


class _Converted(click.ParamType[Any]):
    """Text that a function reads."""

    def __init__(self, convert: Callable[[str], Any]) -> None:
        self.name, self.read = "text", convert

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.read(value)
        except ValueError as error:
            assert param is not None
            raise BadValue(f"{param.opts[0]} {error}", ctx, param) from None


class _LateChoice(click.ParamType[str]):
    """One of some texts, which are asked for when a value is read or completed."""

    name = "choice"

    def __init__(self, choices: Callable[[], Iterable[str]]) -> None:
        self.choices = choices

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return click.Choice(tuple(self.choices())).convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return click.Choice(tuple(self.choices())).shell_complete(ctx, param, incomplete)


def _documented(declared: Any) -> tuple[str, dict[str, tuple[str, str]]]:
    """The docstring without the lines about parameters, and these: metavar and meaning by name."""
    text = inspect.cleandoc(declared.__doc__ or "") + "\n"
    head, examples, tail = text.partition(EXAMPLES)
    entries = {
        name: (metavar.strip(), " ".join(meaning.split()))
        for name, metavar, meaning in ENTRY.findall(head)
    }
    return ENTRY.sub("", head).rstrip() + "\n" + examples + tail, entries


def _of_function(function: Callable[..., Any]) -> Iterator[_Declared]:
    hints, (_, entries) = get_type_hints(function, include_extras=True), _documented(function)
    for name, one in inspect.signature(function).parameters.items():
        words = _words(hints[name], entries.get(name), {})
        is_argument = one.kind is one.POSITIONAL_OR_KEYWORD
        yield _Declared(name, hints[name], one.default, replace(words, positional=is_argument))


@cache
def _of_dataclass(kind: Any) -> tuple[_Declared, ...]:
    # The type of a table of pandas is not needed to read text.
    hints = get_type_hints(kind, localns={"Source": str}, include_extras=True)
    entries: dict[str, tuple[str, str]] = {}
    for one in kind.__mro__:
        entries = _documented(one)[1] | entries
    return tuple(
        _Declared(
            one.name,
            hints[one.name],
            inspect.Parameter.empty if one.default is MISSING else one.default,
            _words(hints[one.name], entries.get(one.name), one.metadata),
        )
        for one in fields(kind)
    )


def _words(hint: Any, entry: tuple[str, str] | None, metadata: Mapping[str, Any]) -> Words:
    """What a docstring, a declaration of the library or the type says about a parameter."""
    kinds = list(_types(hint))
    stated = Words(**metadata) if "meaning" in metadata else Words()
    words = next((kind for kind in kinds if isinstance(kind, Words)), stated)
    metavar, meaning = entry or (words.metavar, words.meaning)
    metavar = metavar or next((name for kind, name in METAVARS if kind in kinds), "")
    origins = [get_origin(kind) for kind in kinds]
    many = words.many or list in origins or Sequence in origins
    return replace(words, meaning=meaning, metavar=metavar, many=many)


def _kind_and_part(hint: Any) -> tuple[Any, Part]:
    extras = getattr(hint, "__metadata__", ())
    part = next((extra for extra in extras if isinstance(extra, Part)), Part())
    return (hint.__origin__ if extras else hint), part


def _types(hint: Any) -> Iterator[Any]:
    """A type and those that it consists of, except the values of a Literal."""
    yield hint
    if get_origin(hint) is not Literal:
        for part in get_args(hint):
            yield from _types(part)


def _parameter(name: str, hint: Any, default: Any, words: Words) -> click.Parameter:
    kinds = list(_types(hint))
    pair = next((kind for kind in kinds if get_origin(kind) is tuple), None)
    many, required = words.many, default is inspect.Parameter.empty
    is_choice = words.choices is None and Literal in [get_origin(kind) for kind in kinds]
    metavar = None if is_choice else words.metavar
    more: dict[str, Any] = {"type": _type(kinds, words), "metavar": metavar}
    if words.positional:
        if many:
            more |= {"nargs": -1, "metavar": f"{metavar}..." if required else f"[{metavar}]..."}
        argument = click.Argument([name], required=required, help=words.meaning, **more)
        return _as_list(argument) if many else argument
    flags = words.flags or (option_of(name),)
    if bool in kinds:
        more = {"is_flag": True}
        if default is True:
            flags, more = (option_of(name, negated=True),), more | {"flag_value": False}
        elif type(None) in kinds:
            flags = (f"{flags[0]}/{option_of(name, negated=True)}",)
    elif pair is not None and Ellipsis not in get_args(pair):
        more |= {"nargs": 2}
    meaning = f"{words.meaning.rstrip('.')}. May be repeated." if many else words.meaning
    option = _Option([*flags, name], multiple=many, required=required, help=meaning, **more)
    option.python_default, option.choices = None if required else default, words.choices
    return _as_list(option) if many else option


def _as_list(parameter: Any) -> Any:
    parameter.callback = lambda _ctx, _param, value: list(value)
    return parameter


def _type(kinds: Sequence[Any], words: Words) -> click.ParamType[Any]:
    if words.convert is not None:
        return _Converted(words.convert)
    if words.choices is not None:
        return _LateChoice(words.choices)
    choices = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), None)
    if choices is not None:
        return click.Choice(choices)
    if int in kinds:
        return click.INT
    if float in kinds:
        return click.FLOAT
    if Path in kinds or words.metavar == "FILE":
        return click.Path(readable=False, path_type=Path if Path in kinds else str)
    return click.STRING
