"""Files that are written completely or not at all, and CSV that no spreadsheet runs."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from calib.text import FORMULA

if TYPE_CHECKING:
    from calib.blocks.kinds import ReportDocument


def to_csv(table: pd.DataFrame) -> bytes:
    """A table as CSV in UTF-8. A text that starts as a formula gets an apostrophe before it.

    See OWASP, "CSV Injection", https://owasp.org/www-community/attacks/CSV_Injection.

    >>> import pandas as pd
    >>> to_csv(pd.DataFrame({"name": ["=1+1", "plain"], "gap": [-0.5, 0.5]}))
    b"name,gap\\n'=1+1,-0.5\\nplain,0.5\\n"
    """
    safe = table.rename(columns=_safe)
    for name in safe.columns[[dtype.kind in "OTSU" for dtype in safe.dtypes]]:
        safe[name] = safe[name].map(_safe, na_action="ignore")
    return safe.to_csv(index=False, lineterminator="\n").encode()


def _safe(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


class Printable:
    """Something that can be printed as a document and saved in several formats."""

    __slots__ = ()
    # The suffix of a file selects the method that makes its content.
    formats: ClassVar[Mapping[str, str]] = {}

    def document(self) -> ReportDocument:
        """The document, with its sections in order."""
        raise NotImplementedError

    def html(self) -> str:
        """The document as one self-contained HTML page."""
        # A pipeline that asks for numbers alone does not wait for charts.
        from calib.reports.render.html import to_html

        return to_html(self.document())

    def _repr_html_(self) -> str:
        """The page in a frame, for notebooks."""
        from calib.reports.render.html import framed

        return framed(self.html())

    def markdown(self) -> str:
        """The document as Markdown, without charts."""
        return self.document().markdown()

    def save(self, path: str | Path) -> None:
        """Write the document to a file. The suffix selects the format.

        Raises ValueError if the suffix is not one of `formats`, and OSError if the file cannot be
        written. An earlier file then stays unchanged.
        """
        path = Path(path)
        if path.suffix.lower() not in self.formats:
            suffixes = ", ".join(self.formats)
            raise ValueError(f"path must end in one of {suffixes}, got {path.name!r}.")
        content = getattr(self, self.formats[path.suffix.lower()])()
        write_whole(path, content.encode() if isinstance(content, str) else content)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely, or not at all: then an earlier file stays unchanged."""
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        # The error names the file that the user gave, and not the temporary one.
        error.filename, error.filename2 = str(path), None
        raise
