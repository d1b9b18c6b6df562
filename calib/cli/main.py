"""The parser, and exit statuses: what went wrong in a sentence, never a traceback for bad input."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

import calib
from calib.cli import junit
from calib.cli.check import add_check
from calib.cli.compare import add_compare
from calib.cli.export import add_export
from calib.cli.report import add_report
from calib.cli.scan import add_scan

BAD_INPUT, FAULT, INTERRUPTED = 2, 3, 130
DESCRIPTION = """Can these probabilities be trusted? The numbers of the dashboard, for pipelines.

  python -m calib report predictions.parquet --outcome y --score p -o report.html
  python -m calib check predictions.parquet --outcome y --score p --max-ks 0.02
  python -m calib compare march.json april.json -o comparison.html
  python -m calib scan predictions/ --outcome y --score p --slice region -o cells.parquet
  python -m calib sql --dialect snowflake --table scores --outcome y --score p
  python -m calib export predictions.parquet --outcome y --score p --method beta -o map.sql
  python -m calib verify map.sql
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    made = argparse.ArgumentParser(
        prog="python -m calib",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"calib {calib.__version__}")
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    add_report(commands)
    add_check(commands)
    add_compare(commands)
    add_scan(commands)
    add_export(commands)
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
        Exit status: 0, 1 where `check` found a limit broken, 2 for input that cannot be used, 3
        for a fault of calib.
    """
    given = parser().parse_args(arguments)
    try:
        status: int = given.run(given)
    except (ValueError, OSError) as error:
        return _refused(given, _sentence(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:
        # Python's own status for this is 1, which a pipeline would read as a broken limit.
        traceback.print_exc()
        return FAULT
    return status


def _sentence(error: ValueError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'A file'} cannot be written: {error.strerror}."
    return str(error)


def _refused(given: argparse.Namespace, sentence: str) -> int:
    print(f"python -m calib: {sentence}", file=sys.stderr)
    if given.junit is not None:
        # Where this file was the trouble, the sentence has said so.
        with suppress(OSError):
            junit.write_error(given.junit, sentence)
    return BAD_INPUT
