"""Data: the values that everything else reads, and which version of calib reads them."""

__version__ = "0.1.0"
