"""TeamReports: what of the team's reports is open in a session, and what is looked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from calib.reports import Grade, Report

# Names in the address: whoever has the id finds the report.
REPORT, COMPARED = "report", "against"
MAX_ID = 200


@dataclass(slots=True)
class TeamReports:
    # Ids of the open saved report, and of the report with which it is compared, or "".
    report: str = ""
    compared: str = ""
    file: Report | None = None  # a report that was opened from a file
    # What the file is called, and why the last one could not be opened.
    file_name: str = ""
    file_problem: str = ""
    other: Report | None = None  # what the open report is compared with, where not both are saved
    tags: str = ""  # tags of the next report that is saved, separated by commas
    model: str = ""  # the model of the report, if there are several
    grade: Grade = "guarded"  # counts that the next report carries, to be recomputed from
    # What is looked for in the list; "" is anything.
    search: str = ""
    tag: str = ""
    author: str = ""
    verdict: str = ""
    page: int = 0  # page of the list, from 0
    # Ids of the reports in the list that are to be compared, at most two.
    picked: tuple[str, ...] = ()
    # What was saved last, hashed, and its id: a second click makes no second report.
    saved: tuple[int, str] = (0, "")
    asking: str = ""  # the dialog that is open: "edit", "delete", or ""
    moved: bool = False  # whether another report was just opened, or closed
    message: str = ""  # what was done; shown once
    n_reads: int = 0  # files read so far; part of the uploader's key
    own: set[str] = field(default_factory=set)  # ids of the reports that this session saved

    def read(self, named: Mapping[str, str], *, again: bool) -> None:
        """Open what an address names: of reports the address alone decides, so that Back works.

        `again` says that the page was shown before: the browser does not change its address by
        itself when a link leads to the page that is shown.
        """
        before = self.address()
        self.report = named.get(REPORT, "")[:MAX_ID]
        self.compared = named.get(COMPARED, "")[:MAX_ID] if self.report else ""
        changed = self.address() != before
        self.moved = again and changed
        if changed:
            self.asking, self.file_problem = "", ""
            self.other = None

    def address(self) -> dict[str, str]:
        """The address of the open report or comparison. Empty for the list."""
        named = {REPORT: self.report, COMPARED: self.compared}
        return {name: value for name, value in named.items() if value}
