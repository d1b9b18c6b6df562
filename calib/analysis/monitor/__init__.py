"""A monitor of calibration that may be looked at every day."""

from calib.analysis.monitor.episodes import Episode
from calib.analysis.monitor.replay import monitor
from calib.analysis.monitor.result import Monitored
from calib.analysis.monitor.rules import monitored

__all__ = ["Episode", "Monitored", "monitor", "monitored"]
