"""Costs and net benefit that a browser draws, so that the threshold follows a hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from calib.analysis.decisions import Costs, DecisionTable, net_benefit
from calib.analysis.decisions.counted import (
    Counted,
    counted,
    counted_decisions,
    printed_costs,
    to_digits,
)
from calib.analysis.decisions.curves import (
    THRESHOLDS,
    ErrorShares,
    cheapest_errors,
    error_shares,
    expected_shares,
)
from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import CrossFitted
from calib.figures import explorer
from calib.figures.theme import DASHES, SYMBOLS, style_of
from calib.numerics.arrays import FloatArray
from calib.text import count, number, rounded, significant
from calib.words import decisions as wording

FOLDER = Path(__file__).parent
# The slider of costs stops where a missed positive costs this many false alarms, or the inverse:
# 1.0, 1.1 to 2, 2.2 to 4, 4.5 to 10, and ten times these.
STEPS = np.concatenate([np.arange(10, 20), np.arange(20, 40, 2), np.arange(40, 100, 5)]) / 10.0
RATIOS = np.concatenate([np.outer([1.0, 10.0], STEPS).ravel(), [100.0]])


@cache
def script() -> str:
    """The JavaScript: the explorer's module, with this page's chart as its default export."""
    shared = explorer.script().replace("export default function", "function")
    return shared + (FOLDER / "decisions.js").read_text(encoding="utf-8")


@cache
def style() -> str:
    """The explorer's CSS with that of this chart."""
    return explorer.style() + (FOLDER / "decisions.css").read_text(encoding="utf-8")


def ratios_of(costs: Costs) -> FloatArray:
    """Ratios of the costs at which a hand stops, in increasing order of their thresholds."""
    chosen = costs.false_negative / costs.false_positive
    return np.unique(np.concatenate([RATIOS, 1.0 / RATIOS, [chosen]]))[::-1]


def decisions_data(
    held_out: CrossFitted, table: DecisionTable, methods: Sequence[str], recommended: str = ""
) -> dict[str, Any]:
    """What the script draws and prints: errors and expected positives by threshold, as JSON.

    The numbers at the stops of a hand are printed here, so that they are those of the answer. The
    lines have the points of `cost_curves`.
    """
    costs, benefit = table.costs, net_benefit(held_out)
    ratios = ratios_of(costs)
    chosen = int(np.flatnonzero(ratios == costs.false_negative / costs.false_positive)[0])
    thresholds = 1.0 / (1.0 + ratios)
    # The same number as in the table: another division could differ in its last bit.
    thresholds[chosen] = costs.threshold
    stops = {key: error_shares(held_out.cells[key], thresholds) for key in methods}
    made = _counted(stops, table, methods, ratios, chosen)
    drawn = []
    for key in methods:
        look, cells = style_of(key, recommended), held_out.cells[key]
        expected = expected_shares(held_out, key, thresholds)
        drawn.append(
            {
                "label": CALIBRATORS[key].label,
                "short": CALIBRATORS[key].short_label,
                "color": look.color,
                "dash": DASHES[look.dash],
                "width": look.width,
                "corners": [[round(x, 4), round(y, 4)] for x, y in SYMBOLS[look.symbol]],
                "curve": _packed(error_shares(cells, THRESHOLDS)),
                "best": _packed(cheapest_errors(cells)),
                "benefit": explorer.packed(benefit.benefit[key]),
                "printed": _printed(made, key, table.reference_rows * expected),
            }
        )
    data = {
        "methods": drawn,
        "ratios": ratios.tolist(),
        "thresholds": thresholds.tolist(),
        "stop": chosen,
        "false_positive": costs.false_positive,
        "base_rate": benefit.base_rate,
        "worked_out": _worked_out(made[methods[0]], table.reference_rows, ratios),
        "rows": table.reference_rows,
        "useful": wording.useful(benefit, methods),
    }
    return {"of": sha256(repr(data).encode()).hexdigest()[:16], **data}


def _counted(
    stops: Mapping[str, ErrorShares],
    table: DecisionTable,
    methods: Sequence[str],
    ratios: FloatArray,
    chosen: int,
) -> dict[str, Counted]:
    """The counts at the stops of a hand. At the chosen one they are those of the answer."""
    alarm, n_rows = table.costs.false_positive, table.reference_rows
    moved = counted(stops, n_rows, alarm * ratios, alarm)
    now = counted_decisions(table, methods)
    return {key: one.replaced(chosen, now[key]) for key, one in moved.items()}


def _printed(made: Mapping[str, Counted], key: str, expected: FloatArray) -> dict[str, list[str]]:
    """The numbers of one method at the stops of a hand, as text."""
    one, place = made[key], [*made].index(key)
    texts = {
        "flagged": one.flagged,
        "missed": one.missed,
        "alarms": one.false_alarms,
        "found": one.detected,
        "expected": to_digits(expected, one.digits),
    }
    printed = {
        name: [number(value, n) for value, n in zip(values, one.digits, strict=True)]
        for name, values in texts.items()
    }
    costs = (printed_costs([*made.values()], at) for at in range(len(expected)))
    return printed | {"cost": [number(spent[place], digits) for spent, digits in costs]}


def _worked_out(one: Counted, n_rows: int, ratios: FloatArray) -> list[str]:
    """The net benefit of the printed counts at the stops of a hand, as a sum."""
    said = []
    for detected, alarms, digits, ratio in zip(
        one.detected, one.false_alarms, one.digits, ratios, strict=True
    ):
        weight = rounded(1.0 / ratio, 3)
        benefit = number((detected - weight * alarms) / n_rows, 3)
        parts = f"({number(detected, digits)} − {significant(weight)} × {number(alarms, digits)})"
        said.append(f"{parts} / {count(n_rows)} = {benefit}")
    return said


def _packed(errors: Any) -> dict[str, str]:
    return {name: explorer.packed(values) for name, values in asdict(errors).items()}
