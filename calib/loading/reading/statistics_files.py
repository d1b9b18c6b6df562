"""Files of Stata and SAS, by the readers of pandas."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable

import pandas as pd

from calib.loading.problems import refuse
from calib.loading.reading.budget import Budget
from calib.loading.table import Table, make_table

# Before version 117, a file of Stata begins with its version, the order of bytes, 1 and 0.
STATA = rb"<stata_dta>|[\x69\x6c\x6e\x6f\x71-\x73][\x01\x02]\x01\x00"
SAS = re.escape(bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011"))
SAS_TRANSPORT = re.escape(b"HEADER RECORD*******LIB")
# The readers of pandas check little, so a damaged file can raise any of these.
DAMAGE = (
    *(ValueError, KeyError, IndexError, TypeError, AttributeError, EOFError, OSError),
    *(ArithmeticError, struct.error, NotImplementedError),
)


def _stata(content: bytes) -> pd.DataFrame:
    try:
        return pd.read_stata(io.BytesIO(content))
    except ValueError:
        # Two values of a column can have the same label.
        return pd.read_stata(io.BytesIO(content), convert_categoricals=False)


def _sas(content: bytes) -> pd.DataFrame:
    return pd.read_sas(io.BytesIO(content), format="sas7bdat", encoding="infer")


def _transport(content: bytes) -> pd.DataFrame:
    return pd.read_sas(io.BytesIO(content), format="xport", encoding="utf-8")


READERS: dict[re.Pattern[bytes], tuple[str, Callable[[bytes], pd.DataFrame]]] = {
    re.compile(STATA): ("Stata", _stata),
    re.compile(SAS): ("SAS", _sas),
    re.compile(SAS_TRANSPORT): ("SAS transport", _transport),
}


STATISTICS = re.compile(b"|".join(start.pattern for start in READERS))


def read_statistics(content: bytes, name: str, budget: Budget) -> Table:
    """Read a file of Stata (.dta) or SAS (.sas7bdat, .xpt). Labels of values are their text."""
    kind, reader = next(how for start, how in READERS.items() if start.match(content))
    try:
        frame = reader(content)
    except DAMAGE:
        raise refuse("damaged.statistics", kind=kind) from None
    if frame.empty:
        raise refuse("empty.statistics", kind=kind)
    budget.check_cells(*frame.shape)
    labelled = frame.select_dtypes("category")
    texts = {
        column: labelled[column].astype("str").where(labelled[column].notna())
        for column in labelled
    }
    return make_table(frame.assign(**texts), list(frame.columns), name=name)
