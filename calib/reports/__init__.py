"""Reports: an analysis without its rows, which can be saved, sent and opened again."""

from calib.reports.build_parts import parts_of
from calib.reports.codec import ReportError
from calib.reports.comparing import ReportComparison, compare_reports
from calib.reports.contents import Contents, Declared, Parts
from calib.reports.evidence import Grade
from calib.reports.pooling import pool_reports
from calib.reports.report import Report
from calib.reports.verifying import NotVerified, VerifiedReport, verify_report

__all__ = [
    "Contents",
    "Declared",
    "Grade",
    "NotVerified",
    "Parts",
    "Report",
    "ReportComparison",
    "ReportError",
    "VerifiedReport",
    "compare_reports",
    "parts_of",
    "pool_reports",
    "verify_report",
]
