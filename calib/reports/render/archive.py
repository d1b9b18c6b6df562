"""The tables of a report for other programs: full numbers, as CSV."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import fields
from importlib.util import find_spec

import pandas as pd

from calib.reports.contents.structure import Contents, Parts
from calib.reports.render.files import to_csv

# ZIP cannot express an earlier time. A fixed time gives the same bytes for the same files.
ARCHIVE_TIME = (1980, 1, 1, 0, 0, 0)


def tables(report: Contents) -> dict[str, pd.DataFrame]:
    """Every table of a report, by the name of its file."""
    analysis = report.analysis
    frames = {"metrics": analysis.table(), "tests": _tests(report)}
    if analysis.multiclass is not None:
        frames["whole_matrix"] = analysis.multiclass.frame()
    for method in analysis.methods.values():
        frames[f"bins_{method.key}"] = method.reliability.frame()
    if report.parts is not None:
        frames |= _parts(report.parts)
    return frames | {
        "warnings": pd.DataFrame({"warning": list(report.warnings)}, dtype=object),
        "settings": _settings(report),
        "maps": _functions(report),
    }


def _tests(report: Contents) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "method": method.label,
                "test": name,
                "statistic": test.statistic,
                "p_value": test.p_value,
                "p_adjusted": report.analysis.p_adjusted(method.key)[name],
                "null": test.null,
            }
            for method in report.analysis.methods.values()
            for name, test in method.all_tests.items()
        ]
    )


def _parts(parts: Parts) -> dict[str, pd.DataFrame]:
    frames = {
        f"slices_{number}": _stacked({key: gaps.frame() for key, gaps in part.gaps.items()})
        for number, part in enumerate(parts.slices, 1)
    }
    frames |= {
        f"slice_tests_{number}": _stacked({key: tests.frame() for key, tests in part.tests.items()})
        for number, part in enumerate(parts.slices, 1)
    }
    if parts.periods is not None:
        periods = {key: table.frame() for key, table in parts.periods.tables.items()}
        frames["periods"] = _stacked(periods)
    if parts.decisions is not None:
        frames["decisions"] = parts.decisions.table.frame()
        frames["costs"] = parts.decisions.cost.frame()
        frames["net_benefit"] = parts.decisions.benefit.frame()
    if parts.models is not None:
        frames["models"] = parts.models.comparison.frame().reset_index()
    if parts.certificate is not None:
        frames["certified"] = parts.certificate.frame()
    if parts.judge is not None:
        frames["judge"] = parts.judge.numbers.frame()
        frames["judge_ranges"] = parts.judge.ranges.frame()
    return frames


def _stacked(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    with_method = [frame.assign(method=key) for key, frame in frames.items()]
    return pd.concat(with_method, ignore_index=True)


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


def _functions(report: Contents) -> pd.DataFrame:
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


def table_files(report: Contents) -> dict[str, bytes]:
    """Every table as CSV, by the name of its file: with full numbers, and with printed numbers."""
    full = {f"{name}.csv": to_csv(_flat(frame)) for name, frame in tables(report).items()}
    # Documents draw with Plotly, and the numbers alone must not need it.
    if find_spec("plotly") is None:
        return full
    from calib.reports.render.printed_files import printed_tables

    return full | printed_tables(report)


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    return frame if frame.index.name is None else frame.reset_index()


def archive(files: Mapping[str, bytes]) -> bytes:
    """Files by name in one archive of ZIP: the same files give the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(zipfile.ZipInfo(name, ARCHIVE_TIME), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()
