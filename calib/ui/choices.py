"""Changed settings in words, as their chips say them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from calib.ui.words import level, line_label, method_label, percent, plain


def choice(name: str, value: Any) -> str:
    """One changed setting, as its chip says it.

    Examples
    --------
    >>> choice("n_bins", 20), choice("epsilon", 0.001)
    ('20 bins', 'ε = 0.001')
    """
    say = CHOICES[name]
    said = say(value) if callable(say) else say.format(value)
    # Only words begin with a capital: a capital ε is another letter.
    return said[:1].upper() + said[1:] if said[:1].isascii() else said


CHOICES: Mapping[str, str | Callable[[Any], str]] = {
    "view": "View {}",
    "methods": lambda found: f"{len(found)} methods",
    "strategy": "{} bins",
    "n_bins": "{} bins",
    "epsilon": "ε = {:.3g}",
    "n_folds": "{} folds",
    "seed": "Seed {}",
    "confidence_level": lambda share: f"{level(share)} intervals",
    "axis": "{} axes",
    "shown": lambda found: f"{len(found)} shown",
    "models": lambda found: f"{len(found)} of the models",
    "lines": lambda found: f"Line: {', '.join(map(line_label, found))}",
    "bin_of": lambda key: f"Bins of {method_label(key)}",
    "bin_at": "Bin around {:.3g}",
    "over_epsilon": lambda found: f"{len(found)} over ε",
    "cumulative": lambda key: f"Panels of {method_label(key)}",
    "classes": lambda key: f"Classes of {method_label(key)}",
    "knots": "Knots marked",
    "auto_bins": "Auto bins",
    "after": lambda key: f"After {method_label(key)}",
    "slice_by": lambda name: f"Slice by {plain(name)}",
    "cross": lambda name: f"Crossed with {plain(name)}",
    "n_ranges": "{} ranges",
    "picked": lambda found: f"{len(found)} slices laid over",
    "apart": "A slice apart",
    "time": lambda name: f"Time: {plain(name)}",
    "unit": "Periods: {}",
    "cost_fp": "False positive costs {:g}",
    "cost_fn": "False negative costs {:g}",
    "capacity": lambda share: f"Capacity {percent(share)}",
    "count_from": "Scores from {:g}",
    "count_to": "Scores to {:g}",
}
