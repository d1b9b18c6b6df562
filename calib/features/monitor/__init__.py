"""Monitor: are the scores still calibrated, day by day, and since when are they not?"""

from calib.feature import FEATURES, Feature, Page

FEATURES.add(
    "monitor",
    Feature(
        page=Page("Monitor", after="Operate", draw=f"{__name__}.page:page", without_data=True),
        command=f"{__name__}.commands:COMMAND",
        charts=f"{__name__}.chart",
        choices=f"{__name__}.choices",
    ),
)
