"""Standard input, output and error, and the files that are written: what can go wrong with them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, TextIO


def prepare() -> None:
    """Make sure that standard output and error exist, and can print any name of a file."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # A stream that the caller closed is None, and Python then prints to the other one.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        # The encoding of the output may lack characters of a path.
        sys.stdout.reconfigure(errors="backslashreplace")


def piped() -> BinaryIO:
    """Bytes of standard input."""
    # Standard input that the caller closed is None.
    if sys.stdin is None:
        raise ValueError("Standard input is closed: pipe a file into it, or name the file.")
    return sys.stdin.buffer


# Each of these arguments names a file to read. If it is "-", that is standard input.
INPUTS = ("predictions", "test", "first", "second", "file", "sources", "judged", "gold")
STANDARD_INPUT = "standard-input"
# Some readers recognise a file by its suffix, which follows from the first bytes.
SUFFIXES = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x1f\x8b": ".csv.gz", b"{": ".json"}


@contextmanager
def standard_input(given: dict[str, Any]) -> Iterator[None]:
    """Keep standard input, named ``-``, in a temporary file."""
    names = [name for name in INPUTS if str(given.get(name, "")) in ("-", "['-']")]
    if len(names) > 1:
        raise ValueError(f"Standard input can be read once, got - for {' and '.join(names)}.")
    with TemporaryDirectory(prefix="calib-") as folder:
        for name in names:
            value, path = given[name], Path(folder) / STANDARD_INPUT
            with path.open("wb") as file:
                shutil.copyfileobj(piped(), file)
            path = path.rename(path.with_suffix(_suffix(path, name)))
            given[name] = [str(path)] if isinstance(value, list) else type(value)(path)
        yield


def _suffix(path: Path, name: str) -> str:
    with path.open("rb") as file:
        first = file.read(8)
    suffixes = (suffix for start, suffix in SUFFIXES.items() if first.startswith(start))
    # `sources` are read by an engine, which recognises text only by its suffix.
    return next(suffixes, ".csv" if name == "sources" else "")


def tell(text: str) -> None:
    """Print a line on standard error. If it cannot be written, the result stays the same."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Discard the buffer of a broken stream, which would change the exit status at the end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file in the error if it cannot be written."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror or error}.") from error


def save_each(paths: Iterable[Path], save: Callable[[Path], object]) -> None:
    """Write every file, and print its path when it is complete."""
    for path in paths:
        with writing(path):
            save(path)
        print(path)
