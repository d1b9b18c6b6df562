"""The pages: their titles and files, in the groups and the order of the navigation."""

from __future__ import annotations

from collections.abc import Mapping

# The first and the last page have no group: the answer, and its data.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "": {"Overview": "app.py"},
    "Diagnose": {
        "Reliability": "pages/reliability.py",
        "Cumulative": "pages/cumulative.py",
        "Classes": "pages/classes.py",
        "Slices": "pages/slices.py",
    },
    "Calibrate": {"Functions": "pages/functions.py", "Compare": "pages/compare.py"},
    "Decide": {"Decisions": "pages/decisions.py"},
    "Share": {"Reports": "pages/reports.py"},
    "Learn": {"Gallery": "pages/gallery.py", "Methods": "pages/methods.py"},
    "Data": {"Data": "pages/data.py"},
}
PAGES: Mapping[str, str] = {
    title: file for group in GROUPS.values() for title, file in group.items()
}
# Shown in the navigation where there are more than two classes.
OF_A_MATRIX = ("Classes",)
# They have something to show while the data of a link are awaited.
WITHOUT_DATA = ("Reports", "Gallery", "Methods")
# Pages that are the same in every view of a matrix.
WITHOUT_VIEW = ("Data", "Classes", "Gallery", "Methods")
# On the other pages a changed choice has no effect.
WITH_ANALYSIS = tuple(page for page in PAGES if page not in ("Data", "Gallery", "Methods"))
