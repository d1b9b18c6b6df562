"""CSV that a spreadsheet opens without running any of it."""

from __future__ import annotations

import re

import pandas as pd

# What starts a formula in Excel, LibreOffice or Google Sheets, a tab or line break before it
# included, and full-width signs, which run where the language is East Asian. A number is none.
FORMULA = re.compile(r"\s*[=+\-@|%＝＋－＠]")


def to_csv(table: pd.DataFrame) -> bytes:
    """A table as CSV in UTF-8, each text that starts as a formula with an apostrophe before it.

    References
    ----------
    OWASP, "CSV Injection", https://owasp.org/www-community/attacks/CSV_Injection.

    Examples
    --------
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
