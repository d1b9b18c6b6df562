"""The command `calib judge`, and `calib check` of a log.

The module is imported for every help text, so each function imports what it calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calib.cli import options as shared
from calib.data.file_options import Decimal, FileFormat

if TYPE_CHECKING:
    from calib.features.automate.desk import DeskLine


@dataclass(frozen=True, kw_only=True)
class JudgeColumns:
    """Columns. What is not given is guessed.

    score COLUMN: column of the judge's score, or of its answer such as pass and fail; several
        columns are several judges
    outcome COLUMN: column of the gold labels
    model COLUMN: column that names the model that answered each row
    group COLUMN: column of cluster IDs, if rows are not independent: samples of one question
    positive LABEL: the label that passes, if it is not a word such as pass, yes or 1
    negative LABEL: the label that fails, if there are more than two
    others_negative: count all labels that are not positive as negative (one against the rest)
    decimal: decimal mark of numbers in text; it is required if cells such as 1,234 are ambiguous
    """

    score: Sequence[str] | None = None
    outcome: str | None = None
    model: str | None = None
    group: str | None = None
    positive: Sequence[str] | None = None
    negative: Sequence[str] | None = None
    others_negative: bool = False
    decimal: Decimal | None = None


@dataclass(frozen=True, kw_only=True)
class TextFormat(FileFormat):
    """File."""


def judge(
    judged: str,
    rows: shared.JudgeRows,
    columns: JudgeColumns,
    text: TextFormat,
    *,
    confidence_level: float = 0.95,
    threshold: float = 0.5,
    seed: int = 0,
    width: float | None = None,
    next: Path | None = None,  # noqa: A002
    next_rows: int = 50,
    json: bool = False,
) -> int:
    """Estimate a pass rate from a judge's scores and gold labels.

    Estimate the pass rate of rows that a judge scored, from gold labels of some of them, and the
    judge's agreement with the labels.

    judged FILE: judged rows: CSV, TSV, Parquet, Arrow; or - for standard input
    confidence_level: confidence level of intervals
    threshold: the judge's answer is pass if its score, converted to 0 to 1, is at least this
    seed: seed of --next
    width: also say how many labels give an interval of at most this width, such as 0.1
    next: CSV of the rows to label next
    next_rows: how many
    json: print JSON

    examples:
      calib judge judged.csv --gold gold.csv
      calib judge judged.csv --gold gold.csv --score rating --scale 1 5 --json
      calib judge judged.csv --outcome human --score small --score large
      calib judge judged.csv --gold gold.csv --next next.csv --next-rows 100

    exit status:
      0  the result was printed, also if there are too few labels
      2  the input cannot be used, or the labels do not match the rows
    """
    from calib.cli import judge as judging

    numbers = {"confidence_level": confidence_level, "seed": seed, "threshold": threshold}
    stated = shared.changed(columns) | shared.changed(text) | numbers
    comparison = judging.compared(judged, rows, stated)
    return judging.show(
        comparison.results, width=width, next_file=next, next_rows=next_rows, as_text=not json
    )


@dataclass(frozen=True, slots=True)
class CertifiedQuestion:
    """A question of a log, which must have a certified threshold at one error."""

    line: DeskLine
    max_error: float

    @property
    def is_met(self) -> bool:
        """Whether some of its answers may be decided alone."""
        gates = self.line.gates
        return bool(gates) and gates[self.max_error].certificate.threshold is not None

    @property
    def kind(self) -> str:
        """JUnit's name of the result."""
        return "system-out" if self.is_met else "failure"

    @property
    def rule(self) -> str:
        return f"Certified threshold of {self.line.question}"

    @property
    def sentence(self) -> str:
        return f"{self.line.question}: {self.line.sentence(self.max_error)}"


def check(
    rows: shared.Rows, settings: shared.SettingsOptions, limits: shared.LogLimits
) -> list[CertifiedQuestion]:
    """Whether each question of a log has a certified threshold."""
    from calib.cli.streams import tell
    from calib.features.automate.desk import desk
    from calib.features.automate.reading import decisions_log

    assert limits.max_error is not None
    log = decisions_log([rows.predictions, *rows.more_files], limits.labels)
    for name, one in log.details.items():
        for problem in one.notes:
            tell(f"note: {name}: {problem.sentence}")
    for problem in log.notes:
        tell(f"note: {problem.sentence}")
    level = settings.confidence_level or 0.95
    made = desk(log, max_errors=[limits.max_error], confidence=level)
    return [CertifiedQuestion(line, limits.max_error) for line in made.lines]
