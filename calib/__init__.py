"""Probability calibration: diagnose, repair, report."""

__version__ = "0.1.0"
