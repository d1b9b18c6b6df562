"""TextFormat: what a person says of how a text is written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How a delimited text is written; what is None is found in the text.

    Parameters
    ----------
    delimiter : str or None
        Character between two cells.
    header : bool or None
        Whether the first line names the columns.
    encoding : str or None
        Such as "utf-8" or "cp1252".

    Raises
    ------
    ValueError
        If the delimiter is not one character, or Python knows no such encoding.

    Examples
    --------
    >>> TextFormat(delimiter=";", header=False)
    TextFormat(delimiter=';', header=False, encoding=None)
    """

    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter in '"\r\n\0' or ord(self.delimiter) > 127
        ):
            raise ValueError(
                "delimiter must be one ASCII character that is neither a quotation mark nor a "
                f"line break, got {self.delimiter!r}."
            )
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, UnicodeError):
                raise ValueError(
                    f"encoding must be one that Python knows, got {self.encoding!r}."
                ) from None
