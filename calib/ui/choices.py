"""Changed settings: in words, as their chips say them, and the pages on which they act."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from calib.text import level, percent, plain, significant
from calib.ui.words import line_label, method_label

# Pages that show an analysis; on the others a changed setting changes nothing.
ANALYSED = frozenset(
    {
        "Overview",
        "Reliability",
        "Cumulative",
        "Functions",
        "Compare",
        "Classes",
        "Slices",
        "Decisions",
        "Reports",
    }
)
BINNED = ANALYSED - {"Cumulative", "Classes", "Decisions"}


def _on(*pages: str) -> frozenset[str]:
    return frozenset(pages)


@dataclass(frozen=True, slots=True)
class Choice:
    """What the chip of a changed setting says, and where the setting acts.

    Attributes
    ----------
    say : str or callable
    pages : frozenset of str
        Titles of the pages.
    in_a_bin, of_several : frozenset of str
        Pages on which it acts too while a bin is looked into, and where there are several models.
    """

    say: str | Callable[[Any], str]
    pages: frozenset[str] = frozenset()
    in_a_bin: frozenset[str] = frozenset()
    of_several: frozenset[str] = frozenset()


def choice(name: str, value: Any) -> str:
    """One changed setting, as its chip says it.

    Examples
    --------
    >>> choice("n_bins", 20), choice("epsilon", 0.001)
    ('20 bins', 'ε = 0.001')
    """
    say = CHOICES[name].say
    said = say(value) if callable(say) else say.format(value)
    # Only words begin with a capital: a capital ε is another letter.
    return said[:1].upper() + said[1:] if said[:1].isascii() else said


def acts(name: str, page: str, *, in_a_bin: bool = False, of_several: bool = False) -> bool:
    """Whether a choice changes what a page shows.

    Examples
    --------
    >>> acts("axis", "Functions"), acts("axis", "Decisions")
    (True, False)
    """
    found = CHOICES[name]
    return (
        page in found.pages
        or (in_a_bin and page in found.in_a_bin)
        or (of_several and page in found.of_several)
    )


CHOICES: Mapping[str, Choice] = {
    "view": Choice("View {}", ANALYSED | {"Data"}),
    "methods": Choice(lambda found: f"{len(found)} methods", ANALYSED),
    "strategy": Choice("{} bins", BINNED),
    "n_bins": Choice("{} bins", BINNED),
    "epsilon": Choice(lambda value: f"ε = {significant(value)}", ANALYSED),
    "n_folds": Choice("{} folds", ANALYSED),
    "seed": Choice("Seed {}", ANALYSED),
    "confidence_level": Choice(lambda share: f"{level(share)} intervals", ANALYSED - {"Classes"}),
    "band": Choice(
        lambda _: "Simultaneous band", _on("Overview", "Reliability", "Compare", "Reports")
    ),
    "axis": Choice("{} axes", _on("Reliability", "Functions")),
    "shown": Choice(lambda found: f"{len(found)} shown", _on("Reliability", "Cumulative")),
    "models": Choice(lambda found: f"{len(found)} of the models", of_several=ANALYSED),
    "lines": Choice(lambda found: f"Line: {', '.join(map(line_label, found))}", _on("Reliability")),
    "bin_of": Choice(lambda key: f"Bins of {method_label(key)}", in_a_bin=_on("Reliability")),
    "bin_at": Choice(lambda at: f"Bin around {significant(at)}", _on("Reliability")),
    "over_epsilon": Choice(lambda found: f"{len(found)} over ε", _on("Functions")),
    "cumulative": Choice(lambda key: f"Panels of {method_label(key)}", _on("Cumulative")),
    "classes": Choice(lambda key: f"Classes of {method_label(key)}", _on("Classes")),
    "knots": Choice("Knots marked", _on("Functions")),
    "auto_bins": Choice("Auto bins", BINNED),
    "after": Choice(
        lambda key: f"After {method_label(key)}",
        _on("Slices", "Decisions"),
        of_several=_on("Compare"),
    ),
    "slice_by": Choice(
        lambda name: f"Slice by {plain(name)}",
        _on("Slices", "Reports"),
        in_a_bin=_on("Reliability"),
    ),
    "cross": Choice(lambda name: f"Crossed with {plain(name)}", _on("Slices", "Reports")),
    "n_ranges": Choice("{} ranges", _on("Slices", "Reports"), in_a_bin=_on("Reliability")),
    "picked": Choice(lambda found: f"{len(found)} slices laid over", _on("Slices")),
    "apart": Choice("A slice apart", _on("Slices")),
    "time": Choice(lambda name: f"Time: {plain(name)}", _on("Slices", "Reports")),
    "unit": Choice("Periods: {}", _on("Slices", "Reports")),
    "cost_fp": Choice("False positive costs {:g}", _on("Slices", "Decisions", "Reports")),
    "cost_fn": Choice("False negative costs {:g}", _on("Slices", "Decisions", "Reports")),
    "capacity": Choice(
        lambda share: f"Capacity {percent(share)}", _on("Slices", "Decisions", "Reports")
    ),
    "count_from": Choice("Scores from {:g}", _on("Decisions")),
    "count_to": Choice("Scores to {:g}", _on("Decisions")),
}
