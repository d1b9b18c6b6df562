"""Files that are whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path


def save_as(path: Path, makers: Mapping[str, Callable[[], str | bytes]]) -> None:
    """Write a file in the format that its suffix names.

    Parameters
    ----------
    path : Path
    makers : mapping of str to callable
        By suffix, what makes the content.

    Raises
    ------
    ValueError
        If the suffix is another.
    OSError
        If the file cannot be written; what was there before stays.
    """
    if path.suffix.lower() not in makers:
        raise ValueError(f"path must end in one of {', '.join(makers)}, got {path.name!r}.")
    content = makers[path.suffix.lower()]()
    write_whole(path, content.encode() if isinstance(content, str) else content)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place, then put it there at once: nobody reads half of it.

    Raises
    ------
    OSError
        If it cannot be written; what was there before stays.
    """
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        # Of the two names, the one that a person knows.
        error.filename, error.filename2 = str(path), None
        raise
