"""What waits until all models are drawn: charts for their common axes, words to be said once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from streamlit.delta_generator import DeltaGenerator

from calib.figures import Chart


@dataclass(slots=True)
class Pending:
    """Filled while the bodies of several models are drawn.

    Attributes
    ----------
    charts : dict of str to list
        By key: the place, the chart, and what draws it, of each model.
    once : dict of str to callable
        What is drawn below all models, by what it is called.
    """

    charts: dict[str, list[tuple[DeltaGenerator, Chart, Callable[[Chart], None]]]] = field(
        default_factory=dict
    )
    once: dict[str, Callable[[], object]] = field(default_factory=dict)
