"""Files that are whole or not there."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


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
