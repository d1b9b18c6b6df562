"""The analysis: all results for one set of predictions and one set of settings.

Figures, pages and reports read these results and compute nothing themselves.
"""

from calib.analysis.analysis import Analysis, Column, DataSummary, LiveAnalysis, MethodResult
from calib.analysis.run import analyze

__all__ = ["Analysis", "Column", "DataSummary", "LiveAnalysis", "MethodResult", "analyze"]
