"""The pages: their titles and files, in the order of the navigation."""

from __future__ import annotations

from collections.abc import Mapping

PAGES: Mapping[str, str] = {
    "Overview": "app.py",
    "Data": "pages/data.py",
    "Reliability": "pages/reliability.py",
    "Cumulative": "pages/cumulative.py",
    "Functions": "pages/functions.py",
    "Compare": "pages/compare.py",
    "Classes": "pages/classes.py",
    "Slices": "pages/slices.py",
    "Decisions": "pages/decisions.py",
    "Reports": "pages/reports.py",
    "Gallery": "pages/gallery.py",
    "Methods": "pages/methods.py",
}
# Shown in the navigation where there are more than two classes.
OF_A_MATRIX = ("Classes",)
# They have something to show while the data of a link are awaited.
WITHOUT_DATA = ("Reports", "Gallery", "Methods")
# On the others a changed choice changes nothing.
WITH_ANALYSIS = tuple(page for page in PAGES if page not in ("Data", "Gallery", "Methods"))
