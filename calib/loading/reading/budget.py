"""Budget: the largest allowed content of a file, checked before the content is decoded."""

from __future__ import annotations

from dataclasses import dataclass

from calib.loading.problems import refuse
from calib.text import number

# The upload widget of the page and .streamlit/config.toml have the same number.
MAX_BYTES = 2**30
MAX_CELLS = 200_000_000
MAX_COLUMNS = 20_000
CELL_BYTES = 8


@dataclass(frozen=True, slots=True)
class Budget:
    """The largest allowed content of a file.

    `size` is in bytes, of the file and of its text when unpacked. `cells` is a number of cells.
    `words` is in bytes of all text cells, although the file can store each word only once.
    """

    size: int = MAX_BYTES
    cells: int = MAX_CELLS
    words: int = MAX_BYTES

    def check_file(self, size: int) -> None:
        """Refuse a file of this size if it is too large."""
        if size > self.size:
            raise refuse(
                "too-large",
                f"The file is larger than {_mb(self.size)}. Upload fewer rows, only the "
                "columns that are needed, or Parquet.",
            )

    def check_unpacked(self, size: int, kind: str) -> None:
        """Refuse a compressed file if its content is too large."""
        if size > self.size:
            raise refuse(
                "too-large",
                f"The {kind} file holds more than {_mb(self.size)} when unpacked. Upload "
                "fewer rows, or only the columns that are needed.",
            )

    def check_cells(self, n_rows: int, n_columns: int) -> None:
        """Refuse a table if it has too many rows and columns."""
        if n_columns > MAX_COLUMNS:
            raise refuse(
                "too-wide",
                f"The table has {n_columns:,} columns; at most {MAX_COLUMNS:,} are read. Upload "
                "only the columns that are needed.",
            )
        if n_rows * n_columns > self.cells:
            raise refuse(
                "too-large",
                f"The file holds {n_rows:,} rows of {n_columns:,} columns; at most {self.cells:,} "
                "cells are read. Upload fewer rows, or only the columns that are needed.",
            )

    def check_decoded(self, size: int, kind: str) -> None:
        """Refuse columns if they are too large when decoded."""
        limit = max(self.size, self.cells * CELL_BYTES)
        if size > limit:
            raise refuse(
                "too-large",
                f"The columns of the {kind} file are {_mb(size)} when decoded; at most "
                f"{_mb(limit)} are read. Upload fewer rows, or only the columns that are needed.",
            )

    def check_words(self, size: int, kind: str) -> None:
        """Refuse columns if their words are too large when each is in its row."""
        if size > self.words:
            raise refuse(
                "too-large",
                f"The words of the {kind} file are {_mb(size)} when each stands in its row; "
                f"at most {_mb(self.words)} are read. Leave out columns of long words.",
            )


def _mb(size: int) -> str:
    return f"{number(size / 2**20, 0)} MB"
