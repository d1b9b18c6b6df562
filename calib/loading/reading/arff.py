"""ARFF, the text format of Weka and OpenML: written as CSV and read like a text."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

from calib.data.file_options import FileFormat
from calib.loading.problems import refuse
from calib.loading.reading.budget import Budget
from calib.loading.reading.delimited_text import read_text, to_utf8
from calib.loading.table import Table

ARFF = re.compile(rb"(\xef\xbb\xbf)?(\s*(%[^\n]*)?\n)*\s*@relation\b", re.IGNORECASE)
DATA = re.compile(r"^[ \t]*@data[^\n]*\n", re.IGNORECASE | re.MULTILINE)
ATTRIBUTE = re.compile(
    r"""^[ \t]*@attribute[ \t]+('(?:[^'\\]|\\.)*'|"[^"]*"|[^\s{]+)""", re.IGNORECASE | re.MULTILINE
)


def read_arff(content: bytes, name: str, given: FileFormat, budget: Budget) -> Table:
    """Read the attributes as the names of columns, and ? as a missing cell."""
    text = to_utf8(content, given.encoding)[0].decode().replace("\r\n", "\n")
    data = DATA.search(text)
    names = [
        _plain(attribute[1])
        for attribute in ATTRIBUTE.finditer(text, 0, data.start() if data else 0)
    ]
    if data is None or not names:
        raise refuse("empty.arff")
    rows, written = text[data.end() :], io.StringIO(newline="")
    if re.match(r"\s*\{", rows):
        raise refuse("sparse")
    # Weka and SciPy write words in single quotation marks, and CSV in double ones.
    quote = "'" if "'" in rows else '"'
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(names)
    lines = (line for line in io.StringIO(rows, newline="") if not line.lstrip().startswith("%"))
    try:
        reader = csv.reader(lines, quotechar=quote, skipinitialspace=True, escapechar="\\")
        writer.writerows(["" if cell.strip() == "?" else cell for cell in row] for row in reader)
    except csv.Error:
        raise refuse("damaged.arff") from None
    as_csv = replace(given, delimiter=",", header=True, encoding=None)
    return read_text(written.getvalue().encode(), name, as_csv, budget)


def _plain(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" else name
