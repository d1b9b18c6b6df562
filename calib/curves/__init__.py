"""Curves: what a reliability diagram, a cumulative plot and a calibration function draw."""
