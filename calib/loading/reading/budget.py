"""Budget: the largest allowed content of a file, checked before the content is decoded."""

from __future__ import annotations

from dataclasses import dataclass

from calib.loading.problems import refuse

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
            raise refuse("too-large", size=self.size)

    def check_unpacked(self, size: int, kind: str) -> None:
        """Refuse a compressed file if its content is too large."""
        if size > self.size:
            raise refuse("too-large.unpacked", kind=kind, size=self.size)

    def check_cells(self, n_rows: int, n_columns: int) -> None:
        """Refuse a table if it has too many rows and columns."""
        if n_columns > MAX_COLUMNS:
            raise refuse("too-wide", n=n_columns, most=MAX_COLUMNS)
        if n_rows * n_columns > self.cells:
            raise refuse("too-large.cells", n_rows=n_rows, n_columns=n_columns, most=self.cells)

    def check_decoded(self, size: int, kind: str) -> None:
        """Refuse columns if they are too large when decoded."""
        limit = max(self.size, self.cells * CELL_BYTES)
        if size > limit:
            raise refuse("too-large.decoded", kind=kind, size=size, limit=limit)

    def check_words(self, size: int, kind: str) -> None:
        """Refuse columns if their words are too large when each is in its row."""
        if size > self.words:
            raise refuse("too-large.words", kind=kind, size=size, limit=self.words)
