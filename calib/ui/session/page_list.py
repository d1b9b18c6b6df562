"""The pages: their titles and files, in the groups and the order of the navigation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from calib.feature import FEATURES

# Pages of the first group are about the scores of today, and those of Operate about scores that
# machines use. The menu of the data is at the right end of the header, and links to their page.
CORE: Mapping[str, Mapping[str, str]] = {
    "Analyse": {
        "Overview": "app.py",
        "Reliability": "pages/reliability.py",
        "Calibrators": "pages/calibrators.py",
        "Slices": "pages/slices.py",
        "Decisions": "pages/decisions.py",
        "Reports": "pages/reports.py",
    },
    "Operate": {},
    "Learn": {"Learn": "pages/learn.py"},
    "Data": {"Data": "pages/data.py"},
}
ADDED = {key: feature.page for key, feature in FEATURES.items() if feature.page is not None}
# Streamlit finds pages only as files, so the pages of other packages share one file. The address
# then has the key of the feature under this name.
ROOM, ROOM_FILE = "room", "pages/room.py"
ROOMS: Mapping[str, dict[str, str]] = {
    page.title: {ROOM: key} for key, page in ADDED.items() if not page.draw.startswith("calib.")
}


def _with_added(group: str, core: Mapping[str, str]) -> dict[str, str]:
    """The pages of a group, with those that features add at its beginning or after them."""
    pages = list(core.items())
    for key, page in ADDED.items():
        titles = [group, *(title for title, _ in pages)]
        place = titles.index(page.after) if page.after in titles else None
        if place is not None:
            file = ROOM_FILE if page.title in ROOMS else f"pages/{key}.py"
            pages.insert(place, (page.title, file))
    return dict(pages)


GROUPS: Mapping[str, Mapping[str, str]] = {
    name: _with_added(name, pages) for name, pages in CORE.items()
}
PAGES: Mapping[str, str] = {
    title: file for group in GROUPS.values() for title, file in group.items()
}
for _page in ADDED.values():
    if _page.title not in PAGES:
        # An error in an installed package must not make the dashboard unusable.
        warnings.warn(
            f"The page {_page.title} is left out: it comes after {_page.after!r}, and there is no "
            f"such page. The pages are {', '.join(PAGES)}.",
            RuntimeWarning,
            stacklevel=2,
        )
# Pages of earlier versions, and the page that each of their addresses leads to.
MOVED: Mapping[str, str] = {
    **dict.fromkeys(("gallery", "methods"), "learn"),
    **dict.fromkeys(("functions", "compare"), "calibrators"),
    "cumulative": "reliability?tab=cumulative",
    "judge": "automate?about=judge",
    "classes": "slices?kind=class",
}
# These pages can be shown while the data of a link are missing.
WITHOUT_DATA = (
    *("Reports", "Learn"),
    *(page.title for page in ADDED.values() if page.without_data),
)
# These pages are the same in every view of a matrix.
WITHOUT_VIEW = (
    *("Data", "Learn"),
    *(page.title for page in ADDED.values() if page.without_view),
)
# These pages show other data than those of the header.
OWN_DATA = tuple(page.title for page in ADDED.values() if page.own_data)
WITHOUT_ANALYSIS = (
    *("Data", "Learn"),
    *(page.title for page in ADDED.values() if not page.with_analysis),
)
# On the other pages a changed choice has no effect.
WITH_ANALYSIS = tuple(page for page in PAGES if page not in WITHOUT_ANALYSIS)
