"""Reports: an analysis that can be kept, sent and opened again, without its rows."""

from calib.reports.codec import ReportError
from calib.reports.document import Report

__all__ = ["Report", "ReportError"]
