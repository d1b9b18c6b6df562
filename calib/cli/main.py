"""The command line as a whole, and exit statuses: a wrong input is a sentence, not a traceback."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import click
from click.shell_completion import (
    ShellComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
    split_arg_string,
)

from calib.cli.commands import COMMANDS
from calib.cli.parameters import Command, Group
from calib.cli.streams import discard, prepare, standard_input, tell
from calib.feature import FEATURES, resolve


class _TcshComplete(ShellComplete):
    """The shell that click does not know. It completes no names of files after options."""

    name: ClassVar[str] = "tcsh"
    source_template: ClassVar[str] = (
        "complete %(prog_name)s 'p@*@`env %(complete_var)s=tcsh_complete %(prog_name)s`@'"
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMMAND_LINE"]
        words = split_arg_string(line)[1:]
        return (words, "") if line.endswith(" ") else (words[:-1], words[-1] if words else "")

    def format_completion(self, item: Any) -> str:
        return str(item.value)


add_completion_class(_TcshComplete)


def script(program: click.Command, shell: str, variable: str) -> str:
    """What a shell reads so that it completes the commands of a program."""
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(program, {}, "calib", variable).source()


def complete(program: click.Command, instruction: str, variable: str) -> int:
    """Print what can stand at the place where a person pressed Tab."""
    return shell_complete(program, {}, "calib", variable, instruction)


BAD_INPUT, FAULT, INTERRUPTED = 2, 3, 130
VARIABLE = "_CALIB_COMPLETE"  # The completion scripts of shells set it.


def calib() -> None:
    """Can these probabilities be trusted? Without a command, the dashboard is opened.

    calib report predictions.parquet --outcome y --score p -o report.html
    calib report north.parquet south.parquet -o all.html
    calib check predictions.parquet --outcome y --score p --max-ks 0.02
    calib judge judged.csv --gold gold.csv
    calib monitor check --name churn
    calib compare march.json april.json -o comparison.html
    calib scan predictions/ --outcome y --score p --slice region -o cells.parquet
    calib sql --dialect snowflake --table scores --outcome y --score p
    calib export predictions.parquet --outcome y --score p --method beta -o map.sql
    calib verify report.json
    calib verify map.sql
    calib serve predictions.parquet --outcome y --score p
    """


def program() -> Group:
    """All commands."""
    made = _group((calib, *COMMANDS, *_added()))
    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="print the version",
    )
    completion = click.Option(
        ["--print-completion"],
        type=click.Choice(("bash", "zsh", "fish", "powershell", "tcsh")),
        is_eager=True,
        expose_value=False,
        callback=_print_completion,
        help="print a script that completes commands and options in a shell",
    )
    made.params = [version, completion]
    return made


def _added() -> Iterator[Any]:
    """The commands of features."""
    for key, feature in FEATURES.items():
        if feature.command:
            try:
                yield resolve(feature.command)
            except Exception as error:
                # An error in an installed package must not make the other commands unusable.
                tell(f"note: The feature {key!r} could not add its command: {error}")


def _group(functions: Sequence[Any]) -> Group:
    head, *members = functions
    return Group(
        head, [_group(one) if isinstance(one, tuple) else Command(one, _run) for one in members]
    )


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        # The version is read from files, which nothing else waits for.
        from calib.distribution import __version__

        print(f"calib {__version__}")
        context.exit()


def _print_completion(context: click.Context, _: click.Parameter, shell: str | None) -> None:
    if shell is not None:
        from calib.cli.main import script

        print(script(program(), shell, VARIABLE))
        context.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process if None.

    Returns
    -------
    int
        Exit status: 0; 1 if `check` found that a limit is exceeded; 2 for input that cannot be
        used; 3 for an internal error of calib; 130 if a person interrupted it.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    prepare()
    try:
        if instruction := os.environ.get(VARIABLE):
            from calib.cli.main import complete

            return complete(program(), instruction, VARIABLE)
        # Without a command, the dashboard is opened.
        with program().make_context("calib", words or ["serve"]) as context:
            status: int = context.command.invoke(context)
        return status
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.UsageError as error:
        tell(f"calib: {_usage(error)}")
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        tell(f"calib: {_sentence(error)}")
        return BAD_INPUT


def _run(path: str, given: dict[str, Any], call: Callable[[], int]) -> int:
    hint = ""
    try:
        with standard_input(given):
            if "settings" in given:
                from calib.cli.settings_file import add_saved

                add_saved(given)
                hint = f" What no option names is read from --settings {given['settings'].name}."
            status = call()
        sys.stdout.flush()
    except (ValueError, OSError) as error:
        return _refused(path, given, f"{_sentence(error)}{hint}")
    except Exception:
        # Python would exit with 1, which a pipeline reads as an exceeded limit.
        traceback.print_exc()
        return FAULT
    return status


def _usage(error: click.UsageError) -> str:
    message = error.format_message()
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        return message
    path = error.ctx.command_path if error.ctx else "calib"
    return f"{message}{'' if message[-1] in '.?)' else '.'} See `{path} --help`."


def _sentence(error: ValueError | OSError) -> str:
    """Errors of what is written name their file themselves, except for standard output."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    if error.filename is None:
        discard(sys.stdout)
        return f"Standard output cannot be written: {error.strerror}."
    return f"{error.filename} cannot be read: {error.strerror}."


def _refused(path: str, given: dict[str, Any], sentence: str) -> int:
    tell(f"calib: {sentence}")
    if "junit" in given:
        from calib.cli.check import write_junit

        # The result of an earlier run must not stay. If this file cannot be written, the sentence
        # may already say so.
        with suppress(OSError):
            write_junit(given["junit"], [("input", "error", sentence)], suite=path)
    return BAD_INPUT
