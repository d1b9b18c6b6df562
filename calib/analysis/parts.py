"""Whether scores hold in parts of the rows: in every slice of a column, and in every period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calib.analysis.periods import PeriodTable
from calib.analysis.plans import PlanChoice
from calib.analysis.slices import SliceTests
from calib.analysis.verdict import SIGNIFICANCE


@dataclass(frozen=True, slots=True)
class Held:
    """In how many slices of a column, or periods, scores are miscalibrated.

    Attributes
    ----------
    column : str
    unit : str
        "slice", or the unit of the periods.
    wrong, tested : int
        Slices with evidence of miscalibration, and slices with enough rows to be tested.
    """

    column: str
    unit: str
    wrong: int
    tested: int

    @classmethod
    def of(cls, column: str, table: SliceTests | PeriodTable) -> Held:
        """Count the slices or the periods of a table, as the page Slices does."""
        unit = table.unit if isinstance(table, PeriodTable) else "slice"
        wrong = int(table.significant(SIGNIFICANCE).sum())
        return cls(column, unit, wrong, int((~table.few).sum()))


@dataclass(frozen=True, slots=True)
class Parts:
    """What holds before and after what is recommended; after a change, of the rows since then.

    Attributes
    ----------
    before, after : sequence of Held
        Of the uncalibrated scores, and of held-out scores of what is recommended, in the same
        order. `after` is empty if nothing is recommended.
    plan : PlanChoice or None
        The plan for scores that changed on a day.
    unchecked : int
        Number of other columns, whose slices or periods were not tested.
    """

    before: Sequence[Held] = ()
    after: Sequence[Held] = ()
    plan: PlanChoice | None = None
    unchecked: int = 0

    @property
    def wrong(self) -> tuple[Held, ...]:
        """The columns in which the uncalibrated scores do not hold."""
        return tuple(held for held in self.before if held.wrong)

    @property
    def failing(self) -> tuple[Held, ...]:
        """The columns in which what is recommended does not hold."""
        return tuple(held for held in self.after if held.wrong)
