"""Evaluation logs of language models: the answers, whether each is right, and its confidence.

The formats are modules, the shorter ones in `short_formats`. `recognising` finds the format by the
content of a file, and `together` makes one table of several logs. `read_logs` gives the rows, also
of logs that `calib.load` refuses because they have no confidence or no outcome: a judge needs only
one of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from calib.loading.logs.rows import COLUMNS, JUDGE, NO_SOURCE, RIGHT, STATED, TOKEN, WRONG
from calib.loading.logs.together import answers_by_task, combined, log_mapping

if TYPE_CHECKING:
    from calib.loading.table import Table

__all__ = [
    "COLUMNS",
    "JUDGE",
    "NO_SOURCE",
    "RIGHT",
    "STATED",
    "TOKEN",
    "WRONG",
    "answers_by_task",
    "combined",
    "log_mapping",
    "read_logs",
]
Files: TypeAlias = "str | Path | Sequence[str | Path]"


def read_logs(
    files: Files,
    *,
    scorer: str | None = None,
    filter: str | None = None,  # noqa: A002
    correct_from: float | None = None,
    percent_above_1: bool = False,
) -> Table:
    """Read evaluation logs, with or without confidences, as one table.

    Parameters
    ----------
    files : path, or several paths
    scorer, filter, correct_from, percent_above_1
        As in `calib.load`. An InputError asks for those that are needed.

    Returns
    -------
    Table
        The columns of `frame` are `COLUMNS`: task, model, sample_id, epoch, confidence (NaN if
        there is none), correct ("right", "wrong" or missing if not scored), source of the
        confidence, answer and explanation. `answers_by_task(frame)` counts them by task and
        model. `judged` says that `correct` only repeats the judge's score in `confidence`.
    """
    from calib.data.file_options import FileFormat
    from calib.loading.problems import refuse
    from calib.loading.reading.reader import read

    given = FileFormat(
        scorer=scorer, filter=filter, correct_from=correct_from, percent_above_1=percent_above_1
    )
    paths = [files] if isinstance(files, str | Path) else list(files)
    tables = []
    for path in paths:
        table = read(path, given=given)
        if not table.log:
            raise refuse("no-log", file=table.file or table.name)
        tables.append(table)
    return combined(tables)[0]
