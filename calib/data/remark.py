"""Remark: a sentence about rows or results, with a code by which it is found among others."""

from __future__ import annotations


class Remark(str):
    """A sentence and its code, such as "swapped". A sentence that a report keeps has no code.

    >>> remark = Remark("2 rows are repeated.", "repeated-rows")
    >>> remark, code_of(remark), code_of("2 rows are repeated.")
    ('2 rows are repeated.', 'repeated-rows', '')
    """

    code: str

    def __new__(cls, sentence: str, code: str = "") -> Remark:
        """Make a remark; a copy gets the code of the original from its attributes."""
        remark = super().__new__(cls, sentence)
        remark.code = code
        return remark


def code_of(sentence: str) -> str:
    """The code of a sentence, or "" if it has none."""
    return getattr(sentence, "code", "")
