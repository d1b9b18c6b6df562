"""Ranks over data sets, the Friedman and Nemenyi tests, and the critical-difference plot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import chi2, rankdata, studentized_range

from calib.figures import METHOD_STYLES, Chart
from calib.figures.axes import PanelAxis, one
from calib.figures.chart import draw
from calib.figures.layers import Layer, Line, Marker, Note
from calib.figures.theme import FRAME, INK

LEVEL = 0.05
ROW, HEAD, WIDTH = 20, 46, 520


@dataclass(frozen=True, slots=True)
class Ranking:
    """How methods rank over data sets, 1 the best.

    Attributes
    ----------
    mean : mapping of str to float
        Mean rank of each method, best first.
    friedman, p_value : float
        Friedman's statistic (chi-square) of "all rank alike".
    critical : float
        Nemenyi's critical difference of two mean ranks at 5 %.
    """

    mean: Mapping[str, float]
    friedman: float
    p_value: float
    critical: float

    def groups(self) -> list[tuple[float, float]]:
        """Spans of mean ranks that cannot be told apart, none within another."""
        ranks = list(self.mean.values())
        spans = [(low, max(r for r in ranks if r - low <= self.critical)) for low in ranks]
        # Each span starts to the right of the last one. It adds a bar only if it also ends there.
        ends = [0.0, *np.maximum.accumulate([high for _, high in spans])]
        return [s for s, before in zip(spans, ends, strict=False) if s[1] > max(before, s[0])]


def rank(losses: pd.DataFrame) -> Ranking:
    """Rank methods (columns) on data sets (rows); equal losses share their ranks.

    References
    ----------
    Demšar 2006, "Statistical comparisons of classifiers over multiple data sets".
    """
    n, k = losses.shape
    ranks = rankdata(losses.to_numpy(), axis=1)
    mean = pd.Series(ranks.mean(axis=0), index=losses.columns).sort_values()
    between = ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    within = ((ranks - (k + 1) / 2) ** 2).sum() / (n * (k - 1))
    statistic = float(n * between / within)
    yardstick = studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2)
    critical = float(yardstick * np.sqrt(k * (k + 1) / (6 * n)))
    return Ranking(mean.to_dict(), statistic, float(chi2.sf(statistic, k - 1)), critical)


def critical_difference_chart(rankings: Mapping[str, Ranking], labels: Mapping[str, str]) -> Chart:
    """One strip a ranking: methods at their mean ranks, bars joining what cannot be told apart.

    Parameters
    ----------
    rankings : mapping of str to Ranking
        By title; all of the same methods.
    labels : mapping of str to str
        Of the methods.
    """
    k = len(next(iter(rankings.values())).mean)
    strip = HEAD + ROW * (k + 2)
    height = strip * len(rankings)
    layers: list[Layer] = []
    notes: list[Note] = []
    for number, (title, ranking) in enumerate(rankings.items()):
        top = height - strip * number
        layers += _strip_layers(ranking, k, top)
        notes += _strip_notes(title, ranking, labels, top)
    across = PanelAxis("Mean rank (1 is best)", range=[0.7, k + 0.3], dtick=1)
    upward = PanelAxis(range=[0, height], showticklabels=False)
    panel = one(across, upward, WIDTH, height)
    return draw("critical difference", panel, layers, "", left=16, notes=notes)


def _strip_layers(ranking: Ranking, k: int, top: int) -> list[Layer]:
    """The yardstick, the methods, and below them the bars of methods that rank alike."""
    layers = [_line(k - ranking.critical, k, top - 30, FRAME, 3)]
    for place, (key, mean) in enumerate(ranking.mean.items()):
        style = METHOD_STYLES[key]
        marker = Marker(style.color, symbol=style.symbol, size=10)
        y = top - HEAD - ROW * (place + 0.5)
        layers.append(Layer("", [mean], [y], marker=marker))
    below = top - HEAD - ROW * k - 8
    groups = enumerate(ranking.groups())
    return layers + [_line(low, high, below - 9 * i, INK, 4) for i, (low, high) in groups]


def _strip_notes(title: str, ranking: Ranking, labels: Mapping[str, str], top: int) -> list[Note]:
    notes = [
        Note(0.8, top - 12, f"<b>{title}</b>", "left"),
        Note(0.8, top - 30, f"critical difference {ranking.critical:.2f}", "left"),
    ]
    gap = "\N{NO-BREAK SPACE}" * 3
    for place, (key, mean) in enumerate(ranking.mean.items()):
        said, y = f"{labels[key]} {mean:.2f}", top - HEAD - ROW * (place + 0.5)
        if place < len(ranking.mean) / 2:
            notes.append(Note(mean, y, gap + said, "left"))
        else:
            notes.append(Note(mean, y, said + gap, "right"))
    return notes


def _line(low: float, high: float, y: float, color: str, width: int) -> Layer:
    return Layer("", [low, high], [y, y], line=Line(color, width))
