"""Reports: an analysis without its rows, which can be saved, sent and opened again."""

from calib.reports.comparison.comparing import ReportComparison, compare_reports
from calib.reports.contents.checklist import Checklist, checklist, with_metrics
from calib.reports.contents.codec import ReportError
from calib.reports.contents.evidence import Grade
from calib.reports.contents.slices_periods_decisions import parts_of
from calib.reports.contents.structure import Contents, Declared, Parts
from calib.reports.report import Report
from calib.reports.verify import NotVerified, VerifiedReport, verify_report

__all__ = [
    "Checklist",
    "Contents",
    "Declared",
    "Grade",
    "NotVerified",
    "Parts",
    "Report",
    "ReportComparison",
    "ReportError",
    "VerifiedReport",
    "checklist",
    "compare_reports",
    "parts_of",
    "verify_report",
    "with_metrics",
]
