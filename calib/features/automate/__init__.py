"""Automate: what machines may decide, and whether a judge's scores can replace gold labels."""

from calib.feature import FEATURES, Feature, Page

FEATURES.add(
    "automate",
    Feature(
        page=Page(
            "Automate",
            after="Operate",
            draw=f"{__name__}.page:page",
            without_data=True,
            without_view=True,
            own_data=True,
        ),
        command=f"{__name__}.commands:judge",
        check=f"{__name__}.commands:check",
        choices=f"{__name__}.choices",
    ),
)
