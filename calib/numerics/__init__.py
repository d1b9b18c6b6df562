"""Numerics of arrays, which all other packages share. It imports nothing of calib."""
