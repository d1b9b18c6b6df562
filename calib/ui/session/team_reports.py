"""The state of the Reports page: the open report, the filters of the list, and the next report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from calib.reports import Grade, Report

# Names in the address of the Reports page.
REPORT, COMPARED, NEW = "report", "against", "new"
MAX_ID_CHARACTERS = 200


@dataclass(slots=True)
class TeamReports:
    # Ids of the open saved report, and of the report with which it is compared, or "".
    report: str = ""
    compared: str = ""
    file: Report | None = None  # A report that was opened from a file.
    # The name of the file, and the reason why the last one could not be opened.
    file_name: str = ""
    file_problem: str = ""
    # The report with which the open one is compared, unless both are saved.
    other: Report | None = None
    writing: bool = False  # Whether the form of the next report is open.
    reviewer: str = ""  # The texts of the next report, beside those of the session.
    sign_off: str = ""
    model_version: str = ""
    template: str = ""  # The name of the checklist by which the next report is printed.
    answers: dict[str, str] = field(default_factory=dict)  # By the name of a template and a key.
    tags: str = ""  # The tags of the next report, separated by commas.
    grade: Grade = "guarded"  # Which counts the next report contains, to be recomputed from.
    # The filters of the list; "" matches every report.
    search: str = ""
    tag: str = ""
    author: str = ""
    verdict: str = ""
    page: int = 0  # The page of the list, from 0.
    # Ids of at most two reports that are selected to be compared.
    picked: tuple[str, ...] = ()
    saved: str = ""  # The id of the report that was saved last, or that is equal to it.
    is_repeated: bool = False  # Whether that report was in the store before.
    asking: str = ""  # The open dialog: "edit", "delete", or "".
    about: str = ""  # The id of the report that the dialog is about.
    moved: bool = False  # Whether another report was just opened, or closed.
    message: str = ""  # The result of the last action. It is shown once.
    n_reads: int = 0  # Each read file changes the uploader's key.
    saved_ids: set[str] = field(default_factory=set)  # This session saved these reports.

    def read(self, address: Mapping[str, str], *, again: bool) -> None:
        """Open the report that an address names. Only the address decides, so that Back works.

        `again` says that the page was shown before: the browser does not change its address by
        itself when a link leads to the page that is shown.
        """
        before = self.address()
        self.report = address.get(REPORT, "")[:MAX_ID_CHARACTERS]
        self.compared = address.get(COMPARED, "")[:MAX_ID_CHARACTERS] if self.report else ""
        self.writing = self.writing or NEW in address
        changed = self.address() != before
        self.moved = again and changed
        if changed:
            self.asking, self.file_problem = "", ""
            self.other = None

    def address(self) -> dict[str, str]:
        """The address of the open report or comparison. Empty for the list."""
        address = {REPORT: self.report, COMPARED: self.compared}
        return {name: value for name, value in address.items() if value}
