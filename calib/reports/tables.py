"""The tables of a report for other programs: full numbers, as CSV, without a cell that could run.

A spreadsheet runs text that begins as a formula does. Such text, a name or a heading, is kept text
by an apostrophe; numbers stay numbers.
"""

from __future__ import annotations

import csv
import io
import math
import zipfile
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from calib.reports.contents import Contents
from calib.reports.parts import Parts

# Full-width signs run too, where a spreadsheet's language is East Asian.
FORMULA = tuple("=+-@\t\r\n＝＋－＠")
# Of ZIP's first moment: an archive has no time of its own.
MOMENT = (1980, 1, 1, 0, 0, 0)


def tables(report: Contents) -> dict[str, pd.DataFrame]:
    """Every table of a report, by the name of its file."""
    analysis = report.analysis
    found = {"metrics": analysis.table(), "tests": _tests(report)}
    for method in analysis.methods.values():
        found[f"bins_{method.key}"] = method.reliability.frame()
    if report.parts is not None:
        found |= _parts(report.parts)
    return found | {"settings": _settings(report), "maps": _maps(report)}


def _tests(report: Contents) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "method": method.label,
                "test": name,
                "statistic": test.statistic,
                "p_value": test.p_value,
                "null": test.null,
            }
            for method in report.analysis.methods.values()
            for name, test in {"ks": method.ks, **method.tests}.items()
        ]
    )


def _parts(parts: Parts) -> dict[str, pd.DataFrame]:
    found = {
        f"slices_{number}": _stacked({key: gaps.frame() for key, gaps in part.gaps.items()})
        for number, part in enumerate(parts.slices, 1)
    }
    if parts.periods is not None:
        periods = {key: table.frame() for key, table in parts.periods.tables.items()}
        found["periods"] = _stacked(periods)
    if parts.decisions is not None:
        found["decisions"] = parts.decisions.table.frame()
        found["costs"] = parts.decisions.cost.frame()
        found["net_benefit"] = parts.decisions.benefit.frame()
    return found


def _stacked(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    named = [frame.assign(method=key) for key, frame in frames.items()]
    return pd.concat(named, ignore_index=True)


def _settings(report: Contents) -> pd.DataFrame:
    settings, changed = report.analysis.settings, report.settings_changed
    return pd.DataFrame(
        [
            {
                "setting": f.name,
                "value": str(getattr(settings, f.name)),
                "changed": f.name in changed,
            }
            for f in fields(settings)
        ]
    )


def _maps(report: Contents) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "method": method.label,
                "map": method.function.formula,
                "knots": " ".join(f"{knot:.9g}" for knot in method.function.knots),
            }
            for method in report.analysis.methods.values()
        ]
    )


def to_csv(frame: pd.DataFrame) -> str:
    r"""A table as CSV.

    Examples
    --------
    >>> to_csv(pd.DataFrame({"=name": ["=cmd|x", "a,b"], "gap": [-0.5, float("nan")]}))
    '\'=name,gap\r\n\'=cmd|x,-0.5\r\n"a,b",\r\n'
    """
    named = frame if frame.index.name is None else frame.reset_index()
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(map(_cell, named.columns))
    writer.writerows(map(_cell, row) for row in named.itertuples(index=False))
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return "" if isinstance(value, float) and math.isnan(value) else value


def table_files(report: Contents) -> dict[str, bytes]:
    """Every table as CSV, by the name of its file."""
    return {f"{name}.csv": to_csv(frame).encode() for name, frame in tables(report).items()}


def archive(files: Mapping[str, bytes]) -> bytes:
    """Files by name in one archive of ZIP: the same files give the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(zipfile.ZipInfo(name, MOMENT), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()
