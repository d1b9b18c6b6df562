"""Makes the report of the first example, which the documentation shows."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

import calib
from calib.reports.report import Report

EXAMPLE, PLACE = "naive_bayes", "example/report.html"
# The seal of a report contains this date, so the page is the same at each build.
CREATED = "2026-01-01"


def on_files(files: Files, config: Any) -> Files:
    """Called by MkDocs with the files of the site."""
    files.append(File.generated(config, PLACE, content=example_report()))
    return files


def example_report() -> str:
    """The report as one HTML page, which needs no server."""
    analysis = calib.analyze(calib.examples.EXAMPLES[EXAMPLE].load())
    return Report.from_analysis(analysis, held_out_declared="yes", created=CREATED).html()
