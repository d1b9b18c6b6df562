"""Matches: conventions that give a number, grouped where they agree, and put into words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import overload

import numpy as np
import pandas as pd

from calib.data.cells import ScoreCells
from calib.features.conventions.candidates import OtherMetric, Problem, Tried, TypedNumber
from calib.metrics.binned import expected_calibration_error
from calib.metrics.binning_rules import (
    CODES,
    OWN_QUANTILE,
    OWN_UNIFORM,
    ROWS_PER_BIN,
    RULES,
    SKIPS_LAST,
    Code,
    Rule,
    SortedScores,
)
from calib.numerics.arrays import BoolArray, FloatArray
from calib.numerics.binning import Strategy
from calib.numerics.poisson_binomial import NORMS
from calib.text import count, joined, number, plural, within_sentence

# A match names where a number comes from only if chance gives fewer matches than this.
MAX_BY_CHANCE = 0.1
SAME_EDGE = 1e-12  # Values that differ by less come from the same bins.
USUAL_NUMBERS, FREQUENT_NUMBERS = (10, 15), (5, 20, 25, 30, 50, 100)
N_NEAREST = 3
TIES = {"stable": "ties in the order of the rows", "quick": "ties by an unstable sort"}
NORM_NAMES = {
    "l1": "ECE",
    "l2": "RMSCE",
    "max": "MCE",
    "mean": "Mean gap of the bins",
    "debiased": "Debiased RMSCE",
}


@dataclass(frozen=True, slots=True)
class Convention:
    """One convention of a binned error.

    Attributes
    ----------
    scores : str
        The scores that are binned, in words.
    treatment : str
        What is done to scores or weights before, or "".
    rule : str
        A key of `calib.metrics.binning_rules.RULES`.
    n_bins : int
        0 if the rule finds it.
    norm : str
        One of `calib.numerics.poisson_binomial.NORMS`.
    """

    scores: str
    treatment: str
    rule: str
    n_bins: int
    norm: str


@dataclass(frozen=True, slots=True)
class Match:
    """A convention that gives the number, or several that agree on these rows.

    Attributes
    ----------
    description : str
        What is computed: the most common one.
    codes : tuple of str
        Published codes that compute it.
    value : float
        What it gives on these rows.
    ours : float
        What this project gives for the same quantity, with the bins of the settings.
    differences : tuple of str
        What the convention does differently. Empty if it is that of this project.
    equal : tuple of str
        Other conventions that give the same value on these rows.
    remark : str
        Mistakes of the code, and what its value depends on, in sentences; often empty.
    rank : int
        0 for the most common conventions, larger for those that are used less.
    conventions : tuple of Convention
        Everything that gives this value; empty for metrics without bins.
    """

    description: str
    codes: tuple[str, ...]
    value: float
    ours: float
    differences: tuple[str, ...] = ()
    equal: tuple[str, ...] = ()
    remark: str = ""
    rank: int = 0
    conventions: tuple[Convention, ...] = ()

    def frame(self) -> pd.DataFrame:
        """One row: description, codes, value, ours, differences, equal, remark."""
        return frame_of([self])


def frame_of(matches: Sequence[Match]) -> pd.DataFrame:
    """One row per match."""
    return pd.DataFrame(
        {
            "description": [match.description for match in matches],
            "codes": ["; ".join(match.codes) for match in matches],
            "value": np.array([match.value for match in matches], dtype=np.float64),
            "ours": np.array([match.ours for match in matches], dtype=np.float64),
            "differences": ["; ".join(match.differences) for match in matches],
            "equal": ["; ".join(match.equal) for match in matches],
            "remark": [match.remark for match in matches],
        }
    )


@dataclass(frozen=True, slots=True, eq=False)
class Conventions(Sequence[Match]):
    """The conventions that give a number: a sequence of matches, the most common ones first.

    Attributes
    ----------
    typed : TypedNumber
    matches : tuple of Match
    nearest : tuple of Match
        The conventions that come nearest, if none gives the number.
    n_tried : int
        Number of conventions that were tried.
    n_by_chance : float
        Number of matches that a random number near this one is expected to have.
    own_bins : str
        The bins of `Match.ours`.
    remarks : tuple of str
        How the number was read, and what was not tried, in sentences.
    """

    typed: TypedNumber
    matches: tuple[Match, ...]
    nearest: tuple[Match, ...]
    n_tried: int
    n_by_chance: float
    own_bins: str
    remarks: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.matches)

    @overload
    def __getitem__(self, index: int) -> Match: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Match, ...]: ...

    def __getitem__(self, index: int | slice) -> Match | tuple[Match, ...]:
        return self.matches[index]

    @property
    def sentence(self) -> str:
        """What gives the number, in one to four sentences."""
        typed = self.typed
        if not self.matches:
            near = [f"{one.description}, {typed.written(one.value)}" for one in self.nearest[:1]]
            nearest = f" Nearest: {near[0]}." if near else ""
            tried = plural(self.n_tried, "convention")
            return f"None of {tried} gives {typed.text} on these rows.{nearest}"
        first = self.matches[0]
        by = f", as in {joined(first.codes)}" if first.codes else ""
        if self.n_by_chance >= MAX_BY_CHANCE:
            expected = number(self.n_by_chance, 1 if self.n_by_chance < 10.0 else 0)
            matches = plural(len(self.matches), "match")
            return (
                f"{typed.text} has {matches}; a random number near it has about {expected}. So "
                "this does not tell where it comes from: type all digits that were printed. The "
                f"most common match is the {within_sentence(first.description)}{by}."
            )
        text = f"{typed.text} is the {within_sentence(first.description)}{by}."
        if first.remark:
            text += f" {first.remark}"
        if others := sum(max(1, len(one.conventions)) for one in self.matches[1:]):
            give = "gives" if others == 1 else "give"
            text += (
                f" {plural(others, 'other convention')} of {count(self.n_tried)} {give} it, too."
            )
        return text

    def frame(self) -> pd.DataFrame:
        """One row per match: description, codes, value, ours, differences, equal, remark."""
        return frame_of(self.matches)


@dataclass(frozen=True)
class OwnConvention:
    """What the project computes itself: the bins of the settings in the view in use."""

    words: str
    rule: Rule
    n_bins: int
    cells: ScoreCells

    @property
    def bins(self) -> str:
        """The bins in words."""
        return bins_words(self.rule, self.n_bins)

    @cached_property
    def errors(self) -> Mapping[str, float]:
        """Its error in every norm."""
        errors = self.rule.errors(SortedScores(self.cells), [self.n_bins])[0]
        strategy: Strategy = "uniform" if self.rule.key == OWN_UNIFORM else "quantile"
        # With weights or groups, the effective number of rows counts.
        debiased = expected_calibration_error(
            self.cells, n_bins=self.n_bins, strategy=strategy, norm="l2", debiased=True
        )
        return dict(zip(NORMS, errors.tolist(), strict=True)) | {"debiased": debiased}


def bins_words(rule: Rule, n_bins: int) -> str:
    """The bins of a rule in words."""
    if rule.kind == "rows":
        return f"bins of {ROWS_PER_BIN} rows"
    if rule.kind == "scores":
        return "one bin per distinct score"
    if n_bins == 1:
        return "one bin"
    kind = "quantile" if rule.kind == "quantile" else "uniform"
    return f"{count(n_bins)} {kind} bins"


@dataclass(frozen=True, eq=False)
class Hit:
    """Rules that give the same value with one number of bins: no score lies where they differ."""

    problem: Problem
    n_bins: int
    norm: str
    value: float
    rules: tuple[Rule, ...]

    @cached_property
    def codes(self) -> tuple[Code, ...]:
        """The published codes that compute it."""
        keys = {rule.key for rule in self.rules} if self.problem.has_codes else set()
        return tuple(
            code for code in CODES if keys & set(code.rules) and code.gives(self.n_bins, self.norm)
        )

    @property
    def has_own_rule(self) -> bool:
        return any(rule.key in (OWN_UNIFORM, OWN_QUANTILE) for rule in self.rules)

    @property
    def splits_ties(self) -> bool:
        """Whether the value depends on the order of rows with equal scores."""
        tied = any(part.is_tied for part in self.problem.parts)
        # If every sort gives the value, their order does not matter on these rows.
        sorts = {rule.sort for rule in self.rules}
        return tied and "" not in sorts and sorts != set(TIES)

    @property
    def conventions(self) -> tuple[Convention, ...]:
        problem = self.problem
        return tuple(
            Convention(problem.words, problem.treatment, rule.key, self.n_bins, self.norm)
            for rule in self.rules
        )


def agreeing(tried: Sequence[Tried], chosen: Sequence[BoolArray]) -> Iterator[list[Hit]]:
    """The chosen values, in groups of hits with equal values, norms and kinds of bins.

    `chosen` has one mask per rule, of the shape of its errors.
    """
    return (list(_hits(members, norm)) for members, norm in _equal_values(tried, chosen))


def n_by_chance(tried: Sequence[Tried], others: FloatArray, typed: TypedNumber) -> float:
    """Number of matches that a random number near the typed one is expected to have.

    It is read from the values within 20 tolerances that are not the number. Equal values count
    once, because they are one match. Those with the number of bins and the norm of a match do not
    count: they are near it because they hardly differ from it, as with clipped scores. `others` are
    the values of metrics without bins.
    """

    def bins(members: Sequence[tuple[float, int, Tried]], norm: str) -> set[tuple[str, int, str]]:
        return {(one.rule.kind, n_bins, norm) for _, n_bins, one in members}

    exact = [typed.is_share(one.errors) for one in tried]
    matches = set[tuple[str, int, str]]().union(*(bins(*of) for of in _equal_values(tried, exact)))
    near = [typed.is_near(one.errors) & ~same for one, same in zip(tried, exact, strict=True)]
    apart = typed.is_near(others) & ~typed.is_share(others)
    n = sum(not bins(*of) & matches for of in _equal_values(tried, near))
    return (n + len(np.unique(others[apart]))) * typed.near_share


def _equal_values(
    tried: Sequence[Tried], chosen: Sequence[BoolArray]
) -> Iterator[tuple[list[tuple[float, int, Tried]], str]]:
    """The chosen values with their numbers of bins, in groups that agree, and their norm."""
    values: defaultdict[tuple[str, int], list[tuple[float, int, Tried]]] = defaultdict(list)
    for one, mask in zip(tried, chosen, strict=True):
        # Both kinds of uniform bins are the same if the scores reach from 0 to 1.
        family = "uniform" if one.rule.kind == "range" else one.rule.kind
        for place, norm in np.argwhere(mask).tolist():
            value = float(one.errors[place, norm])
            values[family, norm].append((value, one.numbers[place], one))
    for (_, norm), members in values.items():
        members.sort(key=lambda member: member[0])
        ends = [n for n, (a, b) in enumerate(pairwise(members), 1) if b[0] - a[0] > SAME_EDGE]
        for start, end in pairwise([0, *ends, len(members)]):
            yield members[start:end], NORMS[norm]


def _hits(members: Sequence[tuple[float, int, Tried]], norm: str) -> Iterator[Hit]:
    groups: defaultdict[tuple[Problem, int], list[Rule]] = defaultdict(list)
    for _, n_bins, one in members:
        groups[one.problem, n_bins].append(one.rule)
    order = list(RULES.values())
    for (problem, n_bins), rules in groups.items():
        yield Hit(problem, n_bins, norm, members[0][0], tuple(sorted(rules, key=order.index)))


def _numbers(numbers: Sequence[int]) -> str:
    """Increasing whole numbers in words: 2 to 5 and 7.

    >>> _numbers([2, 3, 4, 5, 7])
    '2 to 5 and 7'
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    parts: list[str] = []
    for low, high in runs:
        parts += [f"{low} to {high}"] if high > low + 1 else map(str, sorted({low, high}))
    return joined(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Describer:
    """Makes matches of hits and metrics."""

    ours: OwnConvention
    thumbs: Mapping[int, tuple[str, ...]]
    tried: Sequence[Tried]
    typed: TypedNumber

    def of_metric(self, metric: OtherMetric) -> Match:
        """The match of a metric without bins."""
        return Match(
            metric.name, (), metric.value, metric.ours, metric.differences, rank=metric.rank
        )

    def of_hits(self, group: Sequence[Hit]) -> Match:
        """The match of binned errors that agree. The most common one describes it."""
        ranks = [self._rank(hit) for hit in group]
        hit, ours = group[ranks.index(min(ranks))], self.ours
        edges, bins = self._edges(hit), bins_words(hit.rules[0], hit.n_bins)
        differences = {
            f"{hit.problem.words} instead of {ours.words}": hit.problem.words != ours.words,
            f"{bins} instead of {ours.bins}": bins != ours.bins,
            edges: bool(edges) and not hit.has_own_rule,
            hit.problem.treatment: bool(hit.problem.treatment),
        }
        thumbs = self.thumbs.get(hit.n_bins, ()) if hit.rules[0].sets_bins else ()
        name = f"{NORM_NAMES[hit.norm]} {hit.problem.whose} with {bins}"
        name += f" ({joined(thumbs)})" if thumbs else ""
        labels = {code.label for code in hit.codes}
        return Match(
            ", ".join(filter(None, [name, edges, hit.problem.treatment])),
            tuple(one.label for one in hit.codes if one.variant_of not in labels),
            hit.value,
            ours.errors[hit.norm],
            tuple(text for text, differs in differences.items() if differs),
            tuple(self._equal(group, hit)),
            self._remark(hit),
            min(ranks),
            tuple(one for other in group for one in other.conventions),
        )

    def _equal(self, group: Sequence[Hit], hit: Hit) -> Iterator[str]:
        """What else gives this value: other edges, numbers of bins, and scores."""
        if (rules := len({rule.edges for rule in hit.rules}) - 1) and self._matters(hit):
            yield plural(rules, "other rule") + " for the edges"
        same = {other.n_bins for other in group if other.problem is hit.problem}
        if others := sorted(same - {hit.n_bins}):
            yield f"{_numbers(others)} {'bin' if others == [1] else 'bins'}"
        whose = dict.fromkeys(other.problem.whose for other in group if other.n_bins == hit.n_bins)
        yield from (one for one in whose if one != hit.problem.whose)

    def _edges(self, hit: Hit) -> str:
        """What happens on the edges and with ties, where it matters on these rows."""
        if not self._matters(hit):
            return ""
        ties = {rule.sort: TIES[rule.sort] for rule in hit.rules if hit.splits_ties}
        return ", ".join(filter(None, [hit.rules[0].edges, *ties.values()]))

    def _matters(self, hit: Hit) -> bool:
        """Whether other rules with as many bins of this kind give another value."""
        peers = [
            one
            for one in self.tried
            if one.problem is hit.problem
            and one.rule.kind == hit.rules[0].kind
            and one.rule not in hit.rules
        ]
        norm = NORMS.index(hit.norm)
        return any(np.isfinite(one.errors[one.numbers.index(hit.n_bins), norm]) for one in peers)

    def _rank(self, hit: Hit) -> int:
        rank = hit.problem.penalty
        is_ours = self.ours.rule in hit.rules and hit.n_bins == self.ours.n_bins
        if is_ours or any(code.n_bins in (None, hit.n_bins) for code in hit.codes):
            return rank
        rank += (0 if hit.codes or hit.has_own_rule else 1) + (0 if hit.norm == "l1" else 1)
        if hit.n_bins in USUAL_NUMBERS or not hit.rules[0].sets_bins:
            return rank + 1
        return rank + (2 if hit.n_bins in FREQUENT_NUMBERS else 3)

    def _remark(self, hit: Hit) -> str:
        remarks = []
        if all(rule.key in SKIPS_LAST for rule in hit.rules):
            n = hit.problem.parts[0].n_rows
            skipped = n - (n // ROWS_PER_BIN - 1) * ROWS_PER_BIN
            key = SKIPS_LAST[hit.rules[0].key]
            whole = next(
                one for one in self.tried if one.problem is hit.problem and one.rule.key == key
            )
            all_bins = float(whole.errors[0, NORMS.index(hit.norm)])
            remarks.append(
                f"The code leaves out its last bin, which has {count(skipped)} of {count(n)} rows, "
                f"but divides by all rows. With all bins it is {self.typed.written(all_bins)}."
            )
        if hit.splits_ties:
            remarks.append("It depends on the order of rows with equal scores.")
        return " ".join(remarks)


def nearest(tried: Sequence[Tried], typed: TypedNumber) -> list[list[Hit]]:
    """The binned errors that come nearest to a number, in groups that agree."""
    distances = [typed.distance(np.nan_to_num(one.errors, nan=np.inf)) for one in tried]
    least = np.unique(np.concatenate([one.ravel() for one in distances]))
    # Equal errors of several rules differ by rounding, so more values than groups are needed.
    limit = min(least[min(len(least), 10 * N_NEAREST) - 1], np.finfo(np.float64).max)
    groups = agreeing(tried, [one <= limit for one in distances])
    ordered = sorted(groups, key=lambda group: float(typed.distance(np.array(group[0].value))))
    return ordered[:N_NEAREST]
