"""Outcome and score: candidates by their values, evidence from the numbers, then one decision.

Names only add to what the values allow. A reading is accepted without a question if a name tells,
or if no other reading is possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calib.loading import name_patterns as names
from calib.loading.columns import Labels
from calib.loading.file_options import ColumnMapping, Doubt
from calib.loading.guessing.evidence import (
    REASONS,
    Fit,
    fit_of,
    follows_threshold,
    is_confidence,
    pairs_of,
    same_fact,
)
from calib.loading.guessing.facts import Facts, name_rank
from calib.loading.guessing.labels import is_plain_pair, positive_of
from calib.loading.guessing.two_classes import choose
from calib.loading.problems import Choice, Problem, error, note, question, warning
from calib.numerics.arrays import BoolArray, FloatArray
from calib.text import listed, plural, quoted

MAX_OFFERED = 4
MAX_OTHERS = 3
TRUTH_RANK = 0  # The first pattern of `OUTCOME_NAMES` has names that predicted labels do not have.
UNNAMED = 99
# A label that is rare can lie beyond all other scores by chance, if its name says that it is true.
MIN_RARER = 5
# Columns of these names have roles of their own, unless a name says that they are the outcome.
OTHER_ROLES = (
    *names.MODEL_NAMES,
    *names.WEIGHT_NAMES,
    *names.PERHAPS_WEIGHT_NAMES,
    *names.GROUP_NAMES,
    *names.SPLIT_NAMES,
    *names.FOLD_NAMES,
    *names.TIME_NAMES,
    names.ID_NAMES,
    r"insample|in_sample|training|repeat|iter(ation)?|resample",
)


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read outcome and score, and what it gives."""

    outcome: str | None
    score: str | None = None
    positive: str | None = None
    negative: str | None = None
    predicted: str | None = None
    sure_pair: bool = False
    fit: Fit | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()

    def arguments(self) -> dict[str, Any]:
        """The arguments of `calib.load` for this reading."""
        values = {
            name: getattr(self, name)
            for name in ("outcome", "score", "positive", "negative", "predicted")
        }
        undecided = {"drop_missing": True} if self.negative is not None else {}
        return {name: value for name, value in values.items() if value is not None} | undecided

    def mapped(self, mapping: ColumnMapping) -> ColumnMapping:
        """The mapping with this reading in its empty fields."""
        new = {k: v for k, v in self.arguments().items() if not getattr(mapping, k)}
        if mapping.models:
            new.pop("score", None)
        return replace(
            mapping,
            **new,
            reasons=(*mapping.reasons, *self.reasons.items()),
            doubts=(*mapping.doubts, *self.doubts),
        )


def decide(facts: Facts, mapping: ColumnMapping) -> ColumnMapping:
    """The mapping with outcome, score and positive label, as far as they are known."""
    predicted = _predicted(facts, mapping)
    outcomes, why = _outcomes(facts, mapping, predicted)
    readings = [_reading(facts, mapping, outcome, predicted) for outcome in outcomes]
    if not readings:
        reading = _without_outcome(facts, mapping, predicted)
    elif len(readings) > 1:
        reading = _several_outcomes(readings)
    else:
        reading = readings[0]
        uninformative = reading.fit is not None and not reading.fit.informative
        others = _others(facts, reading, mapping)
        if why == "only" and uninformative and others and mapping.outcome is None:
            reading = _no_outcome(reading)
        elif mapping.outcome is None:
            reading.reasons["outcome"] = REASONS[why]
    for column in (reading.outcome, reading.score, reading.predicted):
        facts.take(column)
    facts.predicted |= predicted.keys()
    return reading.mapped(mapping)


def _others(facts: Facts, reading: Reading, mapping: ColumnMapping) -> list[str]:
    """The columns that a reading does not use, other than numbers of rows.

    Without them, no other reading is possible.
    """
    used = {reading.outcome, reading.score, *mapping.score_columns}
    return [name for name in facts.looked_at() if name not in used and not facts[name].own]


def _scores(facts: Facts, mapping: ColumnMapping) -> list[str]:
    """The columns that may hold scores: named ones, else those of probabilities, else by name."""
    if mapping.score_columns:
        return [name for name in mapping.score_columns if name in facts.frame]
    columns = [
        name
        for name in facts.looked_at()
        if name != mapping.outcome and not (facts[name].few and _outcome_rank(name) == TRUTH_RANK)
    ]
    unit = [name for name in columns if facts[name].probability]
    named = [
        name
        for name in columns
        if facts[name].numeric
        and facts[name].distinct > 2
        and _score_rank(name) < UNNAMED
        and name not in unit
    ]
    if any(_score_rank(name) < UNNAMED for name in unit) or not named:
        return unit
    pairs = pairs_of([(name, facts[name]) for name in unit])
    return [*unit, *named] if any(pairs) else named


def _predicted(facts: Facts, mapping: ColumnMapping) -> dict[str, str]:
    """The columns of predicted labels, and why they are."""
    columns = facts.looked_at()
    scores = mapping.score_columns or [
        name
        for name in columns
        if facts[name].probability or (facts[name].fractional and _score_rank(name) < UNNAMED)
    ]
    scores = [name for name in scores if name in facts.frame]
    found = {}
    for column in columns:
        own = facts[column]
        if not own.few or column in scores:
            continue
        if name_rank(column, names.PREDICTED_NAMES) is not None:
            found[column] = REASONS["predicted-name"].format(quoted(column))
            continue
        rank = _outcome_rank(column)
        if len(own.labels) != 2 or rank == TRUTH_RANK:
            continue
        if rank < UNNAMED and own.labels.counts().min() < MIN_RARER:
            continue
        for score in scores:
            if follows_threshold(own.labels, facts[score].values):
                found[column] = REASONS["threshold"].format(quoted(column), quoted(score))
                break
    return found


def _outcomes(
    facts: Facts, mapping: ColumnMapping, predicted: Iterable[str]
) -> tuple[list[str], str]:
    """The likeliest outcome, or several between which no name decides, and the reason."""
    if mapping.outcome is not None:
        return [mapping.outcome], "name"
    taken = {*predicted, *mapping.score_columns}
    named, unnamed = {}, []
    for column in facts.looked_at():
        own, rank = facts[column], _outcome_rank(column)
        if column in taken or not own.few:
            continue
        other_role = name_rank(column, OTHER_ROLES) is not None
        if rank < UNNAMED and (own.two or not other_role):
            constant = own.distinct < 2 and not own.missing
            named[column] = (constant, not own.two, rank)
        elif own.two and not other_role and (not own.fractional or own.pair):
            unnamed.append(column)
    if named:
        best = min(named.values())
        return _distinct(facts, [name for name, key in named.items() if key == best]), "name"
    if not unnamed:
        others = [c for c in facts.looked_at() if c not in taken and _label_like(facts, c)]
        return others if len(others) == 1 else [], "only"
    return _distinct(facts, unnamed), "only"


def _label_like(facts: Facts, column: str) -> bool:
    own = facts[column]
    other_role = name_rank(column, OTHER_ROLES) is not None
    return own.few and own.distinct > 1 and not own.fractional and not other_role


def _distinct(facts: Facts, columns: Sequence[str]) -> list[str]:
    """The columns without those that divide the rows as an earlier one does."""
    kept: list[str] = []
    for column in columns:
        if not any(same_fact(facts[column].labels, facts[one].labels) for one in kept):
            kept.append(column)
    return kept


def _reading(
    facts: Facts, mapping: ColumnMapping, outcome: str, predicted: Iterable[str]
) -> Reading:
    """The best reading with this outcome."""
    if outcome not in facts.frame:
        # `examine` reports a named column that does not exist.
        scores = _scores(facts, mapping)
        best = min(scores, key=_score_rank, default=None)
        return Reading(outcome, None if mapping.score_columns else best)
    own = facts[outcome]
    labels = own.labels
    pair = own.pair if mapping.positive is None else None
    reading = Reading(outcome)
    if pair is not None and mapping.predicted is None:
        negative, positive = pair
        reading = replace(reading, positive=positive, negative=negative)
        reading.reasons["negative"] = REASONS["undecided"]
    reading = _with_score(facts, mapping, reading)
    if mapping.predicted is not None or (mapping.positive is None and len(labels) > 2 and not pair):
        return _with_fit(facts, mapping, reading)
    if mapping.score is None and not mapping.models:
        reading = _as_confidence(facts, reading, predicted)
    if reading.predicted is None and mapping.positive is None and reading.positive is None:
        values = _values(facts, mapping, reading)
        reading = replace(reading, positive=positive_of(labels, values))
    return _with_fit(facts, mapping, reading)


def _values(facts: Facts, mapping: ColumnMapping, reading: Reading) -> FloatArray | None:
    column = reading.score or next(iter(mapping.score_columns), None)
    return facts[column].values if column is not None and column in facts.frame else None


def _with_fit(facts: Facts, mapping: ColumnMapping, reading: Reading) -> Reading:
    scores = _values(facts, mapping, reading)
    if scores is None:
        return reading
    positive, known = _positives(facts, mapping, reading)
    return replace(reading, fit=fit_of(positive, known, scores))


def _positives(
    facts: Facts, mapping: ColumnMapping, reading: Reading
) -> tuple[BoolArray, BoolArray]:
    """Which rows are positive, and of which rows the outcome is known."""
    assert reading.outcome is not None
    labels = facts[reading.outcome].labels
    known = labels.codes >= 0
    if reading.predicted is not None:
        other = facts[reading.predicted].labels
        words = np.array([*(name.casefold() for name in other.names), ""])
        own = np.array([*(name.casefold() for name in labels.names), ""])
        return own[labels.codes] == words[other.codes], known & (other.codes >= 0)
    named = mapping.positives or ((reading.positive,) if reading.positive else ())
    codes = [labels.find(name) for name in named]
    positive = np.isin(labels.codes, [code for code in codes if code is not None])
    if not named:
        positive = labels.codes == len(labels) - 1
    if reading.negative is not None:
        known = positive | (labels.codes == labels.find(reading.negative))
    return positive, known


def _with_score(facts: Facts, mapping: ColumnMapping, reading: Reading) -> Reading:
    """The reading with a score, and doubts about it."""
    if mapping.score is not None or mapping.models:
        return reading
    assert reading.outcome is not None
    labels = facts[reading.outcome].labels
    columns = [name for name in _scores(facts, mapping) if name != reading.outcome]
    binary = len(labels) <= 2 or reading.negative is not None
    candidates = {name: _candidate(reading, name) for name in columns}
    pairs = list(pairs_of([(n, facts[n]) for n in columns if facts[n].distinct > 2]))
    if binary:
        for one, other in pairs:
            higher = np.fmax(facts[one].values, facts[other].values)
            for name in columns:
                # The confidence of a row is the higher score of its two classes.
                if name in (one, other) or _equal(facts[name].values, higher, 1e-4):
                    candidates.pop(name, None)
        candidates |= _of_pairs(mapping, reading, labels, pairs)
    if not candidates:
        score = _fallback(facts, reading)
        return replace(reading, score=score)
    candidates = _without_repeats(facts, candidates)
    best = min(rank for rank, _ in candidates.values())
    tops = [one for name, (rank, one) in candidates.items() if rank == best]
    fitted = [_with_fit(facts, mapping, _with_positive(facts, mapping, one)) for one in tops]
    if len(fitted) > 1:
        fitted.sort(key=lambda one: one.fit.skill if one.fit else 0.0, reverse=True)
        return _several_scores(fitted, best)
    chosen = replace(fitted[0], positive=tops[0].positive)
    others = [
        name
        for name, (rank, one) in candidates.items()
        if name != chosen.score and (rank < UNNAMED or _fits(facts, mapping, one))
    ]
    uninformative = chosen.fit is not None and not chosen.fit.informative
    if best == UNNAMED and uninformative and len(labels) == 2 and _others(facts, chosen, mapping):
        return _unnamed_score(chosen)
    chosen.reasons.setdefault("score", REASONS["name" if best < UNNAMED else "only"])
    if others and chosen.score is not None:
        doubt = Doubt("score", _other_scores(chosen.score, others))
        chosen = replace(chosen, doubts=(*chosen.doubts, doubt))
    return chosen


def _fits(facts: Facts, mapping: ColumnMapping, reading: Reading) -> bool:
    """Whether scores predict the outcome better than the base rate, as few features do."""
    fit = _with_fit(facts, mapping, _with_positive(facts, mapping, reading)).fit
    return fit is not None and fit.skill > 0.0


def _candidate(reading: Reading, column: str) -> tuple[int, Reading]:
    return _score_rank(column), replace(reading, score=column, reasons=dict(reading.reasons))


def _with_positive(facts: Facts, mapping: ColumnMapping, reading: Reading) -> Reading:
    """The reading with a positive label, from which its fit is computed."""
    assert reading.outcome is not None
    if reading.positive is not None or mapping.positive is not None:
        return reading
    labels = facts[reading.outcome].labels
    positive = positive_of(labels, _values(facts, mapping, reading)) if len(labels) <= 2 else None
    return replace(reading, positive=positive)


def _of_pairs(
    mapping: ColumnMapping,
    reading: Reading,
    labels: Labels,
    pairs: Sequence[tuple[str, str]],
) -> dict[str, tuple[int, Reading]]:
    """A reading for each pair of scores of both classes, with the rank of its names."""
    found: dict[str, tuple[int, Reading]] = {}
    outcome = replace(mapping, outcome=reading.outcome)
    for columns in pairs:
        pair = choose(outcome, columns, labels)
        rank = -1 if pair.named else min(_score_rank(name) for name in columns)
        # Features such as the shares of men and women add up to 1 too.
        rank = min(rank, UNNAMED - 1) if pair.sure else rank
        own = replace(
            reading,
            score=pair.score,
            positive=reading.positive or (None if mapping.positive else pair.positive),
            reasons=dict(reading.reasons),
            doubts=(Doubt("score", _two_classes(columns, pair.score, pair.sure)),),
            sure_pair=pair.sure,
        )
        own.reasons["score"] = REASONS["pair"].format(*map(quoted, columns))
        if pair.score not in found or rank < found[pair.score][0]:
            found[pair.score] = rank, own
    return found


def _without_repeats(
    facts: Facts, candidates: dict[str, tuple[int, Reading]]
) -> dict[str, tuple[int, Reading]]:
    """The candidates without those whose scores equal those of one with a better name."""
    kept: dict[str, tuple[int, Reading]] = {}
    for name, (rank, reading) in sorted(candidates.items(), key=lambda item: item[1][0]):
        values = facts[name].values
        if not any(_equal(values, facts[one].values, 1e-9) for one in kept):
            kept[name] = rank, reading
    return kept


def _equal(first: FloatArray, second: FloatArray, tolerance: float) -> bool:
    return bool(np.allclose(first, second, rtol=0.0, atol=tolerance, equal_nan=True))


def _as_confidence(facts: Facts, reading: Reading, predicted: Iterable[str]) -> Reading:
    """Right or wrong as the outcome, if the score is the confidence of predicted labels."""
    if reading.score is None or reading.outcome is None or reading.sure_pair:
        return reading
    labels = facts[reading.outcome].labels
    if len(labels) != 2 or not is_confidence(facts[reading.score].values, len(labels)):
        return reading
    words = {name.casefold() for name in labels.names}
    by_name = list(predicted)
    columns = [name for name in facts.looked_at() if name not in (reading.outcome, reading.score)]
    for column in sorted(columns, key=lambda name: name not in by_name):
        own = facts[column].labels
        same_words = len(own) == 2 and {name.casefold() for name in own.names} == words
        # Any feature can have the labels 0 and 1, so its name must say that it is a label.
        named = column in by_name or _outcome_rank(column) < UNNAMED or not is_plain_pair(labels)
        if same_words and named and not same_fact(own, labels):
            texts = quoted(reading.score), quoted(column)
            found = replace(reading, predicted=column, positive=None, doubts=())
            found.reasons["predicted"] = REASONS["confidence"].format(*texts)
            return found
    return reading


def _fallback(facts: Facts, reading: Reading) -> str | None:
    """The only column of fractions, or a column with the name of a score that holds no numbers."""
    columns = [name for name in facts.looked_at() if name != reading.outcome]
    fractions = [name for name in columns if facts[name].fractional]
    if len(fractions) == 1:
        return fractions[0]
    named = [name for name in columns if _score_rank(name) < UNNAMED and facts[name].distinct]
    return min(named, key=_score_rank, default=None)


def _score_rank(column: str) -> int:
    rank = name_rank(column, names.SCORE_NAMES)
    return UNNAMED if rank is None else rank


def _outcome_rank(column: str) -> int:
    rank = name_rank(column, names.OUTCOME_NAMES)
    return UNNAMED if rank is None else rank


# What is asked or said.


def _several_outcomes(readings: Sequence[Reading]) -> Reading:
    """Ask which column is the outcome. The best reading is used until then."""

    def skill(reading: Reading) -> float:
        return reading.fit.skill if reading.fit else 0.0

    first, *others = sorted(readings, key=skill, reverse=True)
    offered = (first, *others)[:MAX_OFFERED]
    columns = [str(reading.outcome) for reading in (first, *others)]
    text = (
        f"The columns {listed(columns, 5)} may each be the outcome, and no name says which. "
        "Choose the column that says what happened."
    )
    choices = tuple(
        Choice(_described(f"Outcome {_short(reading.outcome)}", reading), reading.arguments())
        for reading in offered
    )
    doubt = Doubt("outcome", error("which-outcome", text, choices=choices))
    kept = tuple(one for one in first.doubts if one.problem.severity != "question")
    return replace(first, doubts=(doubt, *kept))


def _described(start: str, reading: Reading) -> str:
    score = f", score {_short(reading.score)}" if reading.score else ""
    return f"{start}{score}{f' ({reading.fit})' if reading.fit else ''}"


def _short(column: str | None) -> str:
    return repr(str(column)[:30])


def _no_outcome(reading: Reading) -> Reading:
    """Refuse the only column of two values, about which the scores say nothing."""
    text = (
        f"No column has the name of an outcome. The only column of two values, "
        f"{quoted(reading.outcome)}, does not depend on {quoted(reading.score)} "
        f"({reading.fit}), so it is probably another fact. Choose the column that says what "
        "happened, or add one to the file."
    )
    doubt = Doubt("outcome", error("no-outcomes", text))
    return Reading(None, reading.score, doubts=(doubt,))


def _without_outcome(facts: Facts, mapping: ColumnMapping, predicted: dict[str, str]) -> Reading:
    """Refuse a file that has predictions and no outcomes."""
    scores = _scores(facts, mapping)
    score = None if mapping.score_columns else min(scores, key=_score_rank, default=None)
    if not predicted:
        return Reading(None, score)
    column, why = next(iter(predicted.items()))
    text = (
        f"The file has predictions and no outcomes: {why}. Add a column that says what happened. "
        f"If {quoted(column)} is the true outcome, choose it as the outcome."
    )
    return Reading(None, score, doubts=(Doubt("outcome", error("no-outcomes", text)),))


def _several_scores(readings: Sequence[Reading], rank: int) -> Reading:
    """Ask which column is the score. The one that fits the outcome best is used until then."""
    first = readings[0]
    columns = [str(reading.score) for reading in readings]
    uses = [
        Choice(
            _described("Use " + _short(reading.score), replace(reading, score=None)),
            _of_score(reading),
        )
        for reading in readings[:MAX_OFFERED]
    ]
    models = "both models" if len(columns) == 2 else plural(len(columns), "model")
    compare = Choice(f"Compare {models}", {"score": None, "models": tuple(columns)})
    text = (
        f"The columns {listed(columns, 5)} all look like the score. {quoted(first.score)} was "
        "used, which fits the outcome best. Choose one, or compare them as models."
    )
    # Columns without the name of a score may be features.
    choices = (compare, *uses) if rank < UNNAMED else (*uses, compare)
    doubt = Doubt("score", question("which-score", text, choices=choices))
    first.reasons["score"] = REASONS["fit"]
    return replace(first, doubts=(doubt,))


def _of_score(reading: Reading) -> dict[str, Any]:
    positive = {} if reading.positive is None else {"positive": reading.positive}
    return {"score": reading.score, **(positive if reading.sure_pair else {})}


def _unnamed_score(reading: Reading) -> Reading:
    """Ask whether a column without the name of a score is one, if outcomes do not depend on it."""
    text = (
        f"No column has the name of a score. {quoted(reading.score)} has numbers from 0 to 1, and "
        f"does not depend on the outcome {quoted(reading.outcome)} ({reading.fit}). Choose the "
        "column of the scores."
    )
    choice = Choice(f"{_short(reading.score)} is the score", {"score": reading.score})
    doubt = Doubt("score", question("which-score", text, choices=(choice,)))
    return replace(reading, doubts=(doubt,))


def _two_classes(columns: Sequence[str], score: str, sure: bool) -> Problem:
    other = columns[0] if columns[1] == score else columns[1]
    why = "" if sure else ", because it is the second one"
    sentence = (
        f"The columns {quoted(columns[0])} and {quoted(columns[1])} add up to 1 in every row, so "
        f"they are the scores of both classes. {quoted(score)} was taken for that of the positive "
        f"class{why}."
    )
    choices = [Choice(f"Use {_short(other)} instead", {"score": other})]
    if not sure:
        choices.insert(0, Choice(f"Use {_short(score)}", {"score": score}))
    return (note if sure else warning)("two-classes", sentence, choices=tuple(choices))


def _other_scores(score: str, others: Sequence[str]) -> Problem:
    looks = "looks like a score too" if len(others) == 1 else "look like scores too"
    sentence = (
        f"{quoted(score)} was taken for the score. {listed(others, MAX_OTHERS)} {looks}: compare "
        "them as models, or name the score column."
    )
    models = (score, *others)
    text = "both models" if len(models) == 2 else plural(len(models), "model")
    return warning(
        "other-scores",
        sentence,
        choices=(
            Choice(f"Compare {text}", {"score": None, "models": models}),
            Choice(f"Use only {_short(score)}", {"score": score}),
            *(Choice(f"Use {_short(name)}", {"score": name}) for name in others[:MAX_OTHERS]),
        ),
    )
