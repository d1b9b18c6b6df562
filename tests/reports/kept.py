"""The kept report that many tests read; see tests/kept."""

from tests.kept import FOLDER

KEPT = FOLDER / "0.1" / "guarded.json"
