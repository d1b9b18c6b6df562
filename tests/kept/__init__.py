"""Files that a version of calib made, in a folder of its name. They are never edited.

Each folder has a report of both grades, counts, exported calibrators, links, the numbers that they
give, and the SHA-256 of every file. A release whose files differ adds a folder:
python -m tests.kept.make 1.2
"""

from pathlib import Path

from calib.reports.contents.evidence import GRADES

FOLDER = Path(__file__).parent
NUMBERS, DIGESTS = "numbers.json", "SHA256SUMS"
VERSIONS = sorted(path.parent.name for path in FOLDER.glob(f"*/{DIGESTS}"))
REPORTS = [FOLDER / version / f"{grade}.json" for version in VERSIONS for grade in GRADES]
