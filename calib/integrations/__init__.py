"""Calibration where people already work; each module needs the package that it is named after."""
