"""The pages: their titles and files, in the groups and the order of the navigation."""

from __future__ import annotations

from collections.abc import Mapping

# The answer and its data are the first and the last page, and have no group. The menu of the data
# is at the right end of the header, and links to their page.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "": {"Overview": "app.py"},
    "Diagnose": {
        "Reliability": "pages/reliability.py",
        "Cumulative": "pages/cumulative.py",
        "Classes": "pages/classes.py",
        "Slices": "pages/slices.py",
    },
    "Calibrate": {"Functions": "pages/functions.py", "Compare": "pages/compare.py"},
    "Decide and share": {
        "Decisions": "pages/decisions.py",
        "Judge": "pages/judge.py",
        "Monitor": "pages/monitor.py",
        "Reports": "pages/reports.py",
    },
    "Learn": {"Methods": "pages/methods.py"},
    "Data": {"Data": "pages/data.py"},
}
PAGES: Mapping[str, str] = {
    title: file for group in GROUPS.values() for title, file in group.items()
}
# Pages of earlier versions, and the page that each of their addresses leads to.
MOVED: Mapping[str, str] = {"gallery": "methods"}
# The navigation shows these only for data with more than two classes.
MATRIX_PAGES = ("Classes",)
# These pages can be shown while the data of a link are missing.
WITHOUT_DATA = ("Judge", "Monitor", "Reports", "Methods")
# These pages are the same in every view of a matrix.
WITHOUT_VIEW = ("Data", "Classes", "Judge", "Methods")
# On the other pages a changed choice has no effect.
WITH_ANALYSIS = tuple(page for page in PAGES if page not in ("Data", "Judge", "Monitor", "Methods"))
