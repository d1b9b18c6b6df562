"""Reports: an analysis that can be kept, sent and opened again, without its rows."""

from calib.reports.build_parts import parts_of
from calib.reports.codec import ReportError
from calib.reports.comparing import ReportComparison, compare_reports
from calib.reports.contents import Contents, Declared, Parts
from calib.reports.report import Report

__all__ = [
    "Contents",
    "Declared",
    "Parts",
    "Report",
    "ReportComparison",
    "ReportError",
    "compare_reports",
    "parts_of",
]
