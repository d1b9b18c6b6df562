"""Judge: can a judge's scores replace gold labels, and which share of the rows passes?"""

from calib.feature import FEATURES, Feature, Page

FEATURES.add(
    "judge",
    Feature(
        page=Page(
            "Judge",
            after="Decisions",
            draw=f"{__name__}.page:page",
            without_data=True,
            without_view=True,
        ),
        command=f"{__name__}.commands:judge",
        choices=f"{__name__}.choices",
    ),
)
