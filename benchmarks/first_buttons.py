"""Where the first buttons of the page Data lead, for files whose true reading is known.

``python -m benchmarks.first_buttons [FOLDER]`` reads each file of a folder as the page does, with
no column named. Where the page asks, the first button is pressed, at most three times. The folder
has a ``truth.json``: a list of files, the names they are given, and the sums of right readings.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from calib.data.file_options import FileFormat
from calib.data.predictions import Predictions
from calib.loading import Columns, InputError, Problem
from calib.loading.loader import joined
from calib.loading.logs import combined
from calib.scanning.rows_or_counts import read
from calib.ui.controls.uploaders import repairs
from calib.ui.session.upload import Upload

FOLDER = Path(__file__).parents[2] / "shared" / "inputs"
MAX_PRESSED = 3


@dataclass(slots=True)
class Visit:
    """What a person sees who drops a file: rows, or the problems of the file."""

    data: bytes
    name: str
    written: FileFormat = field(default_factory=FileFormat)
    upload: Upload | None = None
    problems: tuple[Problem, ...] = ()

    def drop(self, **changed: Any) -> None:
        self.written = replace(self.written, **changed)
        try:
            table = read(self.data, self.name, given=self.written)
            self._take(Upload.of(*joined(combined([table]))))
        except InputError as error:
            self.upload, self.problems = None, error.problems

    def _take(self, upload: Upload) -> None:
        problems = upload.problems
        self.upload = upload
        # The page has the question above the errors.
        self.problems = (
            *(problem for problem in problems if problem.severity == "question"),
            *(problem for problem in problems if problem.severity == "error"),
        )

    def first(self) -> tuple[str, str, Columns | Mapping[str, Any]] | None:
        """The code of the first problem with buttons, and the text and the answer of its first."""
        for problem in self.problems:
            if self.upload is not None:
                answers = repairs(problem, self.upload.mapping)
            else:
                answers = [(choice.label, choice.arguments) for choice in problem.choices]
            if answers:
                return problem.code, *answers[0]
        return None

    def press(self, answer: Columns | Mapping[str, Any]) -> None:
        if isinstance(answer, Columns):
            assert self.upload is not None
            self._take(self.upload.mapped(answer))
        else:
            self.drop(**answer)

    def ends(self, truth: Mapping[str, Any]) -> str:
        if self.first() is not None:
            return "asks"
        if self.upload is None or not self.upload.models:
            return "refuses"
        models = self.upload.models.values()
        return "right" if any(is_right(rows, truth) for rows in models) else "WRONG"


def is_right(rows: Predictions, truth: Mapping[str, Any]) -> bool:
    """Whether rows have the sums of a right reading, of either class."""
    y, scores = np.asarray(rows.outcome), np.asarray(rows.scores)
    if "classes" in truth:
        own = scores[np.arange(len(y)), y].sum() if scores.shape[1:] != (1,) else np.nan
        return bool(abs(own - truth["score_sum_of_own_class"]) < 0.02 * len(y))
    if "readings" not in truth or (rows.weight is not None) != (truth["weights"] != "none"):
        return False
    score = scores.reshape(len(y), -1)
    if score.shape[1] != 1:
        return False
    return any(
        len(y) == one["rows"]
        and positive.sum() == one["positive"]
        and abs(values.mean() - one["mean_score"]) < 1e-5
        and abs(values[positive == 1].sum() - one["score_sum_of_positives"]) < 1e-3
        for one in truth["readings"]
        for positive, values in ((y, score[:, 0]), (1 - y, 1.0 - score[:, 0]))
    )


def main() -> int:
    """Print where the first buttons lead; return how many files end wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder: Path = parser.parse_args().folder
    at_once, at_end = Counter[str](), Counter[str]()
    print("| file | at once | pressed | ends |\n| --- | --- | --- | --- |")
    for truth in json.loads((folder / "truth.json").read_text()):
        visit = Visit((folder / truth["file"]).read_bytes(), truth["given_as"])
        visit.drop()
        at_once[first := visit.ends(truth)] += 1
        pressed = []
        while len(pressed) < MAX_PRESSED and (button := visit.first()) is not None:
            code, label, answer = button
            pressed.append(f"{code}: {label}")
            visit.press(answer)
        at_end[end := visit.ends(truth)] += 1
        if pressed or end != "right":
            print(f"| {truth['file']} | {first} | {'; '.join(pressed)} | {end} |")
    print(f"\nat once: {dict(at_once)}, after at most {MAX_PRESSED} presses: {dict(at_end)}")
    return at_end["WRONG"]


if __name__ == "__main__":
    sys.exit(min(main(), 1))
