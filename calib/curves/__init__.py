"""Curves of reliability diagrams, cumulative plots and calibration functions."""
