"""The command line: reports and checks for pipelines, with the numbers of the library."""

from calib.cli.main import main

__all__ = ["main"]
