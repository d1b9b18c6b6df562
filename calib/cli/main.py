"""The parser, and exit statuses: an error of the input is a sentence, never a traceback."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile

import shtab

import calib
from calib.cli import check, compare, export, judge, monitor, report, reports, scan, serve, verify
from calib.cli.options import check_outputs, complete_files, standard_input
from calib.cli.settings_file import add_saved, options_given
from calib.cli.streams import discard, prepare, tell

BAD_INPUT, FAULT, INTERRUPTED = 2, 3, 130
DESCRIPTION = """Can these probabilities be trusted? Without a command, the dashboard is opened.

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


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="calib",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"calib {calib.__version__}")
    shtab.add_argument_to(made, help="print a script that completes commands and options")
    commands = made.add_subparsers(metavar="COMMAND")
    for module in (report, check, judge, monitor, compare, scan, export, reports, verify, serve):
        module.add(commands)
    complete_files(made)
    return made


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
    words = sys.argv[1:] if arguments is None else arguments
    prepare()
    try:
        # Without a command, the dashboard is opened.
        return _run(words or ("serve",))
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    commands = parser()
    for word in takewhile(lambda word: word != "--", arguments):
        # Before Python 3.13, argparse takes away the value, and leaves an empty list.
        if word.startswith("--") and word.endswith("=--"):
            commands.error(f"argument {word[:-3]}: the value `--` ends the options, give another.")
    given, hint = commands.parse_args(arguments), ""
    try:
        check_outputs(given)
        with standard_input(given):
            if getattr(given, "settings", None) is not None:
                add_saved(given, options_given(commands, arguments))
                hint = f" What no option names is read from --settings {given.settings.name}."
            status: int = given.run(given)
        sys.stdout.flush()
    except (ValueError, OSError) as error:
        return _refused(given, f"{_sentence(error)}{hint}")
    except Exception:
        # Python would exit with 1, which a pipeline reads as an exceeded limit.
        traceback.print_exc()
        return FAULT
    return status


def _sentence(error: ValueError | OSError) -> str:
    """Errors of what is written name their file themselves, except for standard output."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    if error.filename is None:
        discard(sys.stdout)
        return f"Standard output cannot be written: {error.strerror}."
    return f"{error.filename} cannot be read: {error.strerror}."


def _refused(given: argparse.Namespace, sentence: str) -> int:
    tell(f"calib: {sentence}")
    if getattr(given, "junit", None) is not None:
        # The result of an earlier run must not stay. If this file cannot be written, the sentence
        # may already say so.
        with suppress(OSError):
            suite = getattr(given, "suite", check.SUITE)
            check.write_junit(given.junit, [("input", "error", sentence)], suite=suite)
    return BAD_INPUT
