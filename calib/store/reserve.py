"""Reserve: some disk space that is kept for deleting reports on a full disk."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL

SIZE, PART = 2**20, 2**16


@dataclass(frozen=True, slots=True)
class Reserve:
    """A file of zeros beside a file of SQLite.

    Even a deletion must first be written, and a full disk has no place for that.
    """

    path: Path | None  # None where the database is no file

    @classmethod
    def of(cls, url: URL) -> Reserve:
        """The reserve of a database."""
        is_file = url.get_backend_name() == "sqlite" and url.database is not None
        return cls(Path(f"{url.database}-reserve") if is_file else None)

    def keep(self) -> None:
        """Take the space, if there is any."""
        if self.path is None or (self.path.exists() and self.path.stat().st_size == SIZE):
            return
        # On a nearly full disk a part is better than none.
        with suppress(OSError), self.path.open("wb", buffering=0) as file:
            for _ in range(SIZE // PART):
                file.write(bytes(PART))

    def give(self) -> bool:
        """Give the space back; whether there was some."""
        if self.path is None or not self.path.exists():
            return False
        with suppress(OSError):
            self.path.unlink()
        return not self.path.exists()
