"""Outcome and score: candidates by their values, evidence from the numbers, then one decision.

Names only add to what the values allow. A reading is accepted without a question if a name tells,
or if no other reading is possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calib.data.class_names import are_numbers
from calib.data.file_options import Columns, Doubt
from calib.loading import name_patterns as names
from calib.loading.guessing.class_columns import choose, is_plain_pair, positive_of
from calib.loading.guessing.evidence import (
    CLEAR_ERRORS,
    REASONS,
    UNNAMED,
    Facts,
    Fit,
    expected_rows,
    fit_of,
    follows_threshold,
    is_confidence,
    name_rank,
    pairs_of,
    same_fact,
    surprise,
)
from calib.loading.name_patterns import plain_name
from calib.loading.problems import Choice, Problem, error, note, question, warning
from calib.numerics.arrays import BoolArray, FloatArray
from calib.text import plural, quoted

MAX_OFFERED = 4
MAX_OTHERS = 3
TRUTH_RANK = 0  # The first pattern of `OUTCOME_NAMES` has names that predicted labels do not have.
# Names of these ranks are those of facts that a model may predict, and of any facts.
FACT_RANK, HINT_RANK = 2, 4
# Another column may be the outcome if the score's skill for it is larger by so much.
CLEARLY_BETTER = 0.02
# Few rows of a label can lie beyond all others by chance, if scores expect about as many of it.
MIN_RARER, MAX_EXPECTED = 5, 15.0
# Outcomes of calibrated scores follow a threshold with a probability of exp(-10), 1 in 20,000. A
# column with the name of an outcome is only taken for predicted labels if this is less probable.
CLEAR_SURPRISE = 10.0
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
    named_pair: bool = False  # The score columns have words that are the labels of the outcome.
    fit: Fit | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()

    @property
    def informative(self) -> bool:
        """Whether the score tells something about the outcome, as far as that is known."""
        return self.fit is None or self.named_pair or self.fit.informative

    @property
    def clear(self) -> bool:
        """Whether chance cannot make the score tell so much about the outcome."""
        return self.fit is None or self.named_pair or self.fit.tells(CLEAR_ERRORS)

    @property
    def skill(self) -> float:
        """The skill of the score, by which readings are compared."""
        return 0.0 if self.fit is None else self.fit.skill

    def arguments(self) -> dict[str, Any]:
        """The arguments of `calib.load` for this reading."""
        values = {
            name: getattr(self, name)
            for name in ("outcome", "score", "positive", "negative", "predicted")
        }
        undecided = {"drop_missing": True} if self.negative is not None else {}
        return {name: value for name, value in values.items() if value is not None} | undecided

    def mapped(self, mapping: Columns) -> Columns:
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


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The likeliest columns of the outcome, and others that it could be.

    `rank` is that of the best names.
    """

    best: list[str]
    others: list[str]
    rank: int = UNNAMED


def decide(facts: Facts, mapping: Columns) -> Columns:
    """The mapping with outcome, score and positive label, as far as they are known."""
    predicted, unclear = _predicted(facts, mapping)
    outcomes = _outcomes(facts, mapping, predicted.keys() | unclear.keys())
    if outcomes.rank < UNNAMED:
        predicted, unclear = predicted | unclear, {}
    elif unclear:
        # Few rows are weak evidence that the only column with the name of an outcome is none.
        outcomes = _outcomes(facts, mapping, predicted)
    facts.predicted |= predicted.keys()
    readings = _readings(facts, mapping, outcomes, predicted)
    hinted = predicted and outcomes.rank >= HINT_RANK
    if not readings or (hinted and not any(one.informative for one in readings)):
        reading = _without_outcome(facts, mapping, predicted)
    elif len(readings) > 1 and outcomes.rank > TRUTH_RANK and not _any_fits(readings, predicted):
        columns, score = [str(one.outcome) for one in readings], readings[0].score
        unfit = error("no-outcomes.unfit", columns=columns, score=score)
        reading = Reading(None, score, doubts=(Doubt("outcome", unfit),))
    elif len(readings) > 1 or (hinted and not readings[0].clear):
        reading = _several_outcomes(readings)
    elif mapping.outcome is None:
        reading = _only_outcome(facts, mapping, readings[0], outcomes)
    else:
        reading = readings[0]
    if why := unclear.get(str(reading.outcome)):
        doubt = Doubt("outcome", perhaps_predicted(str(reading.outcome), why))
        reading = replace(reading, doubts=(*reading.doubts, doubt))
    for column in (reading.outcome, reading.score, reading.predicted):
        facts.take(column)
    return reading.mapped(mapping)


def _readings(
    facts: Facts, mapping: Columns, outcomes: Outcomes, predicted: Iterable[str]
) -> list[Reading]:
    """A reading for each column that may be the outcome."""

    def readings_of(columns: Iterable[str]) -> list[Reading]:
        return [_reading(facts, mapping, column) for column in columns]

    readings = readings_of(outcomes.best)
    if predicted and outcomes.rank == UNNAMED:
        # Beside predicted labels, a column such as the region must clearly fit to be the outcome.
        readings = [
            one
            for one in readings
            if one.clear or name_rank(str(one.outcome), names.SLICE_NAMES) == UNNAMED
        ]
    if FACT_RANK <= outcomes.rank < UNNAMED:
        # A fact that a score does not predict is not its outcome.
        readings = [one for one in readings if one.informative] or readings
    if readings and TRUTH_RANK < outcomes.rank < UNNAMED:
        rest = _distinct(facts, [*outcomes.best, *outcomes.others])
        rivals = readings_of(column for column in rest if column not in outcomes.best)
        least = max(one.skill for one in readings) + CLEARLY_BETTER
        readings += [one for one in rivals if one.informative and one.skill > least]
    return readings


def _any_fits(readings: Sequence[Reading], predicted: Iterable[str]) -> bool:
    """Whether the scores predict any of the outcomes.

    Scores that are not calibrated can be worse than the base rate. Beside predicted labels such
    outcomes do not count, because the scores of other outcomes often depend on features.
    """
    return any(
        one.fit is None or one.skill > 0.0 or (not predicted and one.fit.auc > 0.5 and one.clear)
        for one in readings
    )


def _only_outcome(facts: Facts, mapping: Columns, reading: Reading, outcomes: Outcomes) -> Reading:
    """The reading, unless its column is probably another fact."""
    values, fit = _values(facts, mapping, reading), reading.fit
    # The confidence of predictions is not lower for those that are right.
    low = fit is not None and fit.auc < 0.5 and values is not None and is_confidence(values, 2)
    unfit = low or not reading.informative
    if outcomes.rank == UNNAMED and unfit and _others(facts, reading, mapping):
        if not facts[str(reading.outcome)].two:
            return _without_outcome(facts, mapping, {})
        given = {"column": reading.outcome, "score": reading.score, "fit": str(fit)}
        doubt = Doubt("outcome", error("no-outcomes.independent", **given))
        return Reading(None, reading.score, doubts=(doubt,))
    reading.reasons["outcome"] = REASONS["name" if outcomes.rank < UNNAMED else "only"]
    return reading


def _others(facts: Facts, reading: Reading, mapping: Columns) -> list[str]:
    """The columns that a reading does not use, other than numbers of rows.

    Without them, no other reading is possible.
    """
    used = {reading.outcome, reading.score, reading.predicted, *mapping.score_columns}
    return [name for name in facts.looked_at() if name not in used and not facts[name].unique]


def _scores(facts: Facts, mapping: Columns) -> list[str]:
    """The columns that may hold scores: named ones, else those of probabilities, else by name."""
    if mapping.score_columns:
        return [name for name in mapping.score_columns if name in facts.frame]
    columns = [
        name
        for name in facts.looked_at()
        if name != mapping.outcome and not (facts[name].few and _outcome_rank(name) == TRUTH_RANK)
    ]
    unit = [name for name in columns if facts[name].probability]
    by_name = [
        name
        for name in columns
        if facts[name].numeric
        and facts[name].distinct > 2
        and _score_rank(name) < UNNAMED
        and name not in unit
    ]
    if any(_score_rank(name) < UNNAMED for name in unit):
        return unit
    if not by_name and _of_text(facts, columns):
        # A column with the name of scores and other cells than numbers is reported as such.
        return unit if any(pairs_of([(name, facts[name]) for name in unit])) else []
    return [*unit, *by_name]


def _predicted(facts: Facts, mapping: Columns) -> tuple[dict[str, str], dict[str, str]]:
    """The columns of predicted labels and why they are, and those that have too few rows for it."""
    columns = facts.looked_at()
    scores = mapping.score_columns or [
        name
        for name in columns
        if facts[name].probability or (facts[name].fractional and _score_rank(name) < UNNAMED)
    ]
    scores = [name for name in scores if name in facts.frame]
    reasons, unclear = dict[str, str](), dict[str, str]()
    for column in columns:
        column_facts = facts[column]
        if not column_facts.few or column in scores:
            continue
        if name_rank(column, names.PREDICTED_NAMES) < UNNAMED:
            reasons[column] = REASONS["predicted-name"].format(quoted(column))
            continue
        if (other := _affixed(facts, column)) is not None:
            reasons[column] = REASONS["affix"].format(quoted(column), quoted(other))
            continue
        rank = _outcome_rank(column)
        if len(column_facts.labels) != 2 or rank == TRUTH_RANK:
            continue
        for score in scores:
            values = facts[score].values
            labels = column_facts.labels
            if not follows_threshold(labels, values):
                continue
            is_clear = rank == UNNAMED or surprise(labels, values) > CLEAR_SURPRISE
            is_rare = (
                rank < UNNAMED
                and labels.counts().min() < MIN_RARER
                and expected_rows(labels, values) < MAX_EXPECTED
            )
            if is_rare and not is_clear:
                continue
            why = REASONS["threshold"].format(quoted(column), quoted(score))
            (reasons if is_clear and not is_rare else unclear)[column] = why
            break
    return reasons, unclear


def _affixed(facts: Facts, column: str) -> str | None:
    """A column of the same labels whose name is that of this one without one or two letters.

    Programs name predicted labels in this way: I_churn (SAS) and $N-churn (SPSS).
    """
    words = {name.casefold() for name in facts[column].labels.names}
    parts = plain_name(column).split("_")
    shorter = {
        "_".join(rest)
        for affix, rest in ((parts[0], parts[1:]), (parts[-1], parts[:-1]))
        if affix.isalpha() and len(affix) <= 2
    }
    for other in facts.looked_at():
        if plain_name(other) not in shorter or other == column or not facts[other].few:
            continue
        if {name.casefold() for name in facts[other].labels.names} == words:
            return other
    return None


def _outcomes(facts: Facts, mapping: Columns, predicted: Iterable[str]) -> Outcomes:
    """The columns that can be the outcome, by how much their names tell."""
    if mapping.outcome is not None:
        return Outcomes([mapping.outcome], [], TRUTH_RANK)
    taken = {*predicted, *mapping.score_columns}
    by_name, unnamed, constant = {}, [], []
    for column in facts.looked_at():
        column_facts, rank = facts[column], _outcome_rank(column)
        if column in taken or not column_facts.few:
            continue
        other_role = name_rank(column, OTHER_ROLES) < UNNAMED
        if rank < UNNAMED and column_facts.distinct < 2 and not column_facts.missing:
            constant.append(column)
        elif rank < UNNAMED and (column_facts.two or not other_role):
            by_name[column] = (
                not column_facts.two,
                rank if rank >= HINT_RANK else min(rank, FACT_RANK),
            )
        elif (
            column_facts.two
            and not other_role
            and (not column_facts.fractional or column_facts.pair)
        ):
            unnamed.append(column)
    if by_name:
        best = min(by_name.values())
        chosen = _distinct(facts, [name for name, key in by_name.items() if key == best])
        others = [name for name, key in by_name.items() if key != best and facts[name].two]
        return Outcomes(chosen, [*others, *unnamed], best[1])
    # A column with the name of an outcome and one label is refused as such: no other is guessed.
    one_label = [column for column in constant if _outcome_rank(column) < HINT_RANK][:1]
    if unnamed or constant:
        return Outcomes(one_label or _distinct(facts, unnamed) or constant[:1], [])
    shares = [c for c in facts.looked_at() if facts[c].probability and c not in taken]
    shares = [c for c in shares if _outcome_rank(c) == TRUTH_RANK]
    if shares:
        # The checks say how shares of annotators are written as rows.
        return Outcomes(shares[:1], [], TRUTH_RANK)
    columns = [c for c in facts.looked_at() if c not in taken and _label_like(facts, c)]
    return Outcomes(columns if len(columns) == 1 else [], [])


def _label_like(facts: Facts, column: str) -> bool:
    column_facts = facts[column]
    return (
        column_facts.few
        and column_facts.distinct > 1
        and not column_facts.unique
        and not column_facts.fractional
        and name_rank(column, OTHER_ROLES) == UNNAMED
    )


def _distinct(facts: Facts, columns: Sequence[str]) -> list[str]:
    """The columns without those that divide the rows as an earlier one does."""
    kept: list[str] = []
    for column in columns:
        if not any(same_fact(facts[column].labels, facts[one].labels) for one in kept):
            kept.append(column)
    return kept


def _reading(facts: Facts, mapping: Columns, outcome: str) -> Reading:
    """The best reading with this outcome."""
    if outcome not in facts.frame:
        # `examine` reports a named column that does not exist.
        scores = _scores(facts, mapping)
        best = min(scores, key=_score_rank, default=None)
        return Reading(outcome, None if mapping.score_columns else best)
    pair = facts[outcome].pair if mapping.positive is None else None
    reading = Reading(outcome)
    if pair is not None and mapping.predicted is None:
        negative, positive = pair
        reading = replace(reading, positive=positive, negative=negative)
        reading.reasons["negative"] = REASONS["undecided"]
    reading = _with_positive(facts, mapping, _with_score(facts, mapping, reading))
    return _with_fit(facts, mapping, reading)


def _values(facts: Facts, mapping: Columns, reading: Reading) -> FloatArray | None:
    column = reading.score or next(iter(mapping.score_columns), None)
    return facts[column].values if column is not None and column in facts.frame else None


def _with_fit(facts: Facts, mapping: Columns, reading: Reading) -> Reading:
    scores = _values(facts, mapping, reading)
    if scores is None:
        return reading
    positive, is_known = _positives(facts, mapping, reading)
    return replace(reading, fit=fit_of(positive, is_known, scores))


def _fitted(facts: Facts, mapping: Columns, reading: Reading) -> Reading:
    """The reading with the fit of the positive label that it will have."""
    return replace(
        reading, fit=_with_fit(facts, mapping, _with_positive(facts, mapping, reading)).fit
    )


def _positives(facts: Facts, mapping: Columns, reading: Reading) -> tuple[BoolArray, BoolArray]:
    """Which rows are positive, and of which rows the outcome is known."""
    assert reading.outcome is not None
    labels = facts[reading.outcome].labels
    is_known = labels.codes >= 0
    if reading.predicted is not None:
        other = facts[reading.predicted].labels
        words = np.array([*(name.casefold() for name in other.names), ""])
        column_facts = np.array([*(name.casefold() for name in labels.names), ""])
        return column_facts[labels.codes] == words[other.codes], is_known & (other.codes >= 0)
    by_name = mapping.positives or ((reading.positive,) if reading.positive else ())
    codes = [labels.find(name) for name in by_name]
    positive = np.isin(labels.codes, [code for code in codes if code is not None])
    if not by_name:
        positive = labels.codes == len(labels) - 1
    if reading.negative is not None:
        is_known = positive | (labels.codes == labels.find(reading.negative))
    return positive, is_known


def _with_score(facts: Facts, mapping: Columns, reading: Reading) -> Reading:
    """The reading with a score, and doubts about it."""
    if mapping.score is not None or mapping.models:
        return reading
    assert reading.outcome is not None
    labels = facts[reading.outcome].labels
    candidates = _candidates(facts, mapping, reading)
    if not candidates:
        score = _fallback(facts, reading)
        return replace(reading, score=score) if score else _without_score(facts, mapping, reading)
    candidates = _without_repeats(facts, candidates)
    best = min(rank for rank, _ in candidates.values())
    tops = [one for name, (rank, one) in candidates.items() if rank == best]
    tops = [_as_confidence(facts, mapping, one) for one in tops]
    fitted = [_fitted(facts, mapping, one) for one in tops]
    if len(fitted) > 1:
        fitted.sort(key=lambda one: one.skill, reverse=True)
        return _several_scores(fitted, best)
    chosen = fitted[0]
    rest = {
        name: _fitted(facts, mapping, one)
        for name, (_, one) in candidates.items()
        if name != chosen.score
    }
    # One of two columns without telling names can depend on the other as features do.
    tells = mapping.outcome is not None or _outcome_rank(reading.outcome) < UNNAMED
    better = [
        one
        for name, one in rest.items()
        if one.skill > CLEARLY_BETTER and (tells or candidates[name][0] < UNNAMED)
    ]
    if chosen.skill <= 0.0 and better:
        better.sort(key=lambda one: one.skill, reverse=True)
        return _several_scores([*better, chosen], UNNAMED)
    # Few features predict the outcome better than the base rate.
    others = [
        name for name, one in rest.items() if candidates[name][0] < UNNAMED or one.skill > 0.0
    ]
    uninformative = chosen.fit is not None and not chosen.fit.informative
    if best == UNNAMED and uninformative and len(labels) == 2 and _others(facts, chosen, mapping):
        choice = Choice(f"{_short(chosen.score)} is the score", {"score": chosen.score})
        given = {"column": chosen.score, "outcome": chosen.outcome, "fit": str(chosen.fit)}
        doubt = Doubt("score", error("which-score.unnamed", **given, choices=(choice,)))
        return replace(chosen, doubts=(doubt,))
    chosen.reasons.setdefault("score", REASONS["name" if best < UNNAMED else "only"])
    if others and chosen.score is not None:
        doubt = Doubt("score", _other_scores(chosen.score, others))
        chosen = replace(chosen, doubts=(*chosen.doubts, doubt))
    return chosen


def _candidates(facts: Facts, mapping: Columns, reading: Reading) -> dict[str, tuple[int, Reading]]:
    """A reading for each column that can be the score, with the rank of its name."""
    assert reading.outcome is not None
    columns = [name for name in _scores(facts, mapping) if name != reading.outcome]
    values = {name: facts[name].values for name in columns}
    candidates = {
        name: (
            _rank_beside(name, reading.outcome),
            replace(reading, score=name, reasons=dict(reading.reasons)),
        )
        for name in columns
    }
    pairs = list(pairs_of([(n, facts[n]) for n in columns if facts[n].distinct > 2]))
    of_pairs = {name for pair in pairs for name in pair}
    for name in columns:
        # The confidence of a row is the larger of a score and 1 minus the score.
        if (
            name not in of_pairs
            and is_confidence(values[name], 2)
            and any(
                _equal(values[name], np.maximum(values[one], 1.0 - values[one]), 1e-4)
                for one in columns
                if one != name
            )
        ):
            candidates.pop(name)
    if len(facts[reading.outcome].labels) <= 2 or reading.negative is not None:
        candidates = {n: one for n, one in candidates.items() if n not in of_pairs}
        candidates |= _of_pairs(facts, mapping, reading, pairs)
    return candidates


def _with_positive(facts: Facts, mapping: Columns, reading: Reading) -> Reading:
    """The reading with a positive label, if it is not named."""
    assert reading.outcome is not None
    if reading.positive or mapping.positive or reading.predicted or mapping.predicted:
        return reading
    values = _values(facts, mapping, reading)
    return replace(reading, positive=positive_of(facts[reading.outcome].labels, values))


def _of_pairs(
    facts: Facts, mapping: Columns, reading: Reading, pairs: Sequence[tuple[str, str]]
) -> dict[str, tuple[int, Reading]]:
    """A reading for each pair of scores of both classes, with the rank of its names."""
    assert reading.outcome is not None
    labels = facts[reading.outcome].labels
    if reading.negative is not None:
        decided = [name in (reading.negative, reading.positive) for name in labels.names]
        labels = replace(labels, values=labels.values[decided])
    readings: dict[str, tuple[int, Reading]] = {}
    outcome = replace(mapping, outcome=reading.outcome)
    words = {name.casefold() for name in labels.names}
    for columns in pairs:
        pair = choose(outcome, columns, labels)
        rank = -1 if pair.names_labels else min(_score_rank(name) for name in columns)
        of_pair = replace(
            reading,
            score=pair.score,
            positive=reading.positive or (None if mapping.positive else pair.positive),
            reasons=dict(reading.reasons),
            sure_pair=pair.sure,
            # Many facts have labels such as 0 and 1.
            named_pair=pair.names_labels
            and not are_numbers(labels.names)
            and not any(words <= pair for pair in names.COMMON_PAIRS),
        )
        of_pair = _with_positive(facts, mapping, of_pair)
        first = _with_fit(facts, mapping, of_pair)
        second = _with_fit(facts, mapping, replace(of_pair, score=pair.other))
        # Without a telling name, the column that fits the outcome is that of the positive class.
        by_fit = not pair.sure and first.informative and second.skill > first.skill
        chosen = second if by_fit else first
        # Features such as the shares of men and women add up to 1 too.
        rank = min(rank, UNNAMED - 1) if pair.sure or first.informative else rank
        doubt = Doubt("score", _two_classes(columns, str(chosen.score), pair.sure, by_fit))
        chosen = replace(chosen, doubts=(doubt,))
        if not pair.positive:
            chosen = replace(chosen, positive=reading.positive)
        chosen.reasons["score"] = REASONS["pair"].format(*map(quoted, columns))
        name = str(chosen.score)
        if name not in readings or rank < readings[name][0]:
            readings[name] = rank, chosen
    return readings


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


def _as_confidence(facts: Facts, mapping: Columns, reading: Reading) -> Reading:
    """Right or wrong as the outcome, if the score is the confidence of predicted labels."""
    if reading.score is None or reading.outcome is None or reading.sure_pair:
        return reading
    labels = facts[reading.outcome].labels
    if len(labels) != 2 or not is_confidence(facts[reading.score].values, len(labels)):
        return reading
    words = {name.casefold() for name in labels.names}
    readings = []
    for column in facts.looked_at():
        column_facts = facts[column].labels
        same_words = (
            len(column_facts) == 2 and {name.casefold() for name in column_facts.names} == words
        )
        # Any feature can have the labels 0 and 1, so its name must say that it is a label.
        by_name = column in facts.predicted or _outcome_rank(column) < UNNAMED
        if column in (reading.outcome, reading.score) or not same_words:
            continue
        if (by_name or not is_plain_pair(labels)) and not same_fact(column_facts, labels):
            one = replace(reading, predicted=column, positive=None, doubts=())
            readings.append((column in facts.predicted, _with_fit(facts, mapping, one)))
    if not readings:
        return reading
    _, right = max(readings, key=lambda one: (one[0], one[1].skill))
    plain = _fitted(facts, mapping, reading)
    # A feature can be above 0.5 in all rows, so it must tell how often the labels are right.
    tells = right.informative or not _others(facts, right, mapping)
    unnamed = _rank_beside(reading.score, reading.outcome) == UNNAMED
    if unnamed and not (tells and right.skill > plain.skill):
        return reading
    texts = quoted(reading.score), quoted(right.predicted)
    reasons = {**reading.reasons, "predicted": REASONS["confidence"].format(*texts)}
    return replace(right, fit=None, reasons=reasons)


def _fallback(facts: Facts, reading: Reading) -> str | None:
    """The only column of fractions, or a column with the name of a score that holds no numbers."""
    columns = [name for name in facts.looked_at() if name != reading.outcome]
    if texts := _of_text(facts, columns):
        return min(texts, key=_score_rank)
    fractions = [name for name in columns if facts[name].fractional]
    if len(fractions) == 1:
        return fractions[0]
    by_name = [name for name in columns if _score_rank(name) < UNNAMED and facts[name].distinct]
    return min(by_name, key=_score_rank, default=None)


def _without_score(facts: Facts, mapping: Columns, reading: Reading) -> Reading:
    """Ask which column of numbers is the score, or refuse the file. The best fit stands first."""
    columns = [
        name
        for name in facts.looked_at()
        if name != reading.outcome
        and facts[name].numeric
        and facts[name].distinct > 2
        and not facts[name].unique
        and name_rank(name, OTHER_ROLES) == UNNAMED
    ]
    if not columns:
        return replace(reading, doubts=(Doubt("score", NO_SCORE),))
    fitted = [_with_fit(facts, mapping, replace(reading, score=name)) for name in columns]
    fitted.sort(key=lambda one: -abs(one.fit.auc - 0.5) if one.fit else 0.0)
    doubt = Doubt("score", error("which-score.numbers", choices=_uses(fitted)))
    return replace(reading, doubts=(doubt,))


def _of_text(facts: Facts, columns: Iterable[str]) -> list[str]:
    """The columns that have the name of scores, and text that is no label."""
    return [
        name
        for name in columns
        if _score_rank(name) < UNNAMED
        and not (facts[name].numeric or facts[name].few)
        and name_rank(name, OTHER_ROLES) == UNNAMED
    ]


def _rank_beside(score: str, outcome: str) -> int:
    """The rank of a score's name, which can also hold the name of the outcome."""
    holds = f"_{plain_name(outcome)}_" in f"_{plain_name(score)}_"
    return min(_score_rank(score), UNNAMED - 1) if holds else _score_rank(score)


def _score_rank(column: str) -> int:
    return name_rank(column, names.SCORE_NAMES)


def _outcome_rank(column: str) -> int:
    return name_rank(column, names.OUTCOME_NAMES)


# The problems that are asked about or said.

NO_OUTCOME = error("no-outcome.labels")
NO_SCORE = error("no-score.numbers")


def _several_outcomes(readings: Sequence[Reading]) -> Reading:
    """Ask which column is the outcome. The best reading is used until then."""

    first, *others = sorted(readings, key=lambda one: one.skill, reverse=True)
    offered = (first, *others)[:MAX_OFFERED]
    columns = [str(reading.outcome) for reading in (first, *others)]
    choices = tuple(
        Choice(_described(f"Outcome {_short(reading.outcome)}", reading), reading.arguments())
        for reading in offered
    )
    key = "which-outcome" if others else "which-outcome.only"
    doubt = Doubt("outcome", error(key, columns=columns, choices=choices))
    kept = tuple(one for one in first.doubts if one.problem.severity != "question")
    return replace(first, doubts=(doubt, *kept))


def _described(start: str, reading: Reading) -> str:
    score = f", score {_short(reading.score)}" if reading.score else ""
    return f"{start}{score}{f' ({reading.fit})' if reading.fit else ''}"


def _short(column: str | None) -> str:
    return repr(str(column)[:30])


def which_predicted(facts: Facts, mapping: Columns, columns: Sequence[str]) -> Problem:
    """Ask in which of several predicted labels the score is the confidence, the best fit first."""
    reading = Reading(mapping.outcome, str(mapping.score))
    fitted = [_with_fit(facts, mapping, replace(reading, predicted=name)) for name in columns]
    fitted.sort(key=lambda one: one.skill, reverse=True)
    choices = tuple(
        Choice(f"In {_short(one.predicted)} ({one.fit})", {"predicted": one.predicted})
        for one in fitted[:MAX_OFFERED]
    )
    return error("which-predicted", columns=columns, score=mapping.score, choices=choices)


def _without_outcome(facts: Facts, mapping: Columns, predicted: dict[str, str]) -> Reading:
    """Refuse a file that has predictions and no outcomes."""
    scores = _scores(facts, mapping)
    score = None if mapping.score_columns else min(scores, key=_score_rank, default=None)
    problem = no_outcomes(*next(iter(predicted.items()))) if predicted else NO_OUTCOME
    return Reading(None, score, doubts=(Doubt("outcome", problem),))


def no_outcomes(column: str, why: str) -> Problem:
    """Refuse a file with predicted labels and no outcomes. `why` is a reason or the name of one."""
    return error("no-outcomes", why=REASONS.get(why, why).format(quoted(column)), column=column)


def perhaps_predicted(column: str, why: str) -> Problem:
    """Warn that a column, which was taken for the outcome, may have predicted labels."""
    choice = Choice("It does", {"outcome": column})
    return warning("perhaps-predicted", why=why, choices=(choice,))


def _several_scores(readings: Sequence[Reading], rank: int) -> Reading:
    """Ask which column is the score. The one that fits the outcome best is used until then."""
    first = readings[0]
    columns = [str(reading.score) for reading in readings]
    uses = _uses(readings)
    # Columns without the name of a score may be features.
    compare = _compare(columns)
    choices = (compare, *uses) if rank < UNNAMED else (*uses, compare)
    doubt = Doubt(
        "score", question("which-score", columns=columns, used=first.score, choices=choices)
    )
    first.reasons["score"] = REASONS["fit"]
    return replace(first, doubts=(doubt,))


def _compare(columns: Sequence[str]) -> Choice:
    models = "both models" if len(columns) == 2 else plural(len(columns), "model")
    return Choice(f"Compare {models}", {"score": None, "models": tuple(columns)})


def _uses(readings: Sequence[Reading]) -> tuple[Choice, ...]:
    return tuple(
        Choice(
            _described("Use " + _short(reading.score), replace(reading, score=None)),
            {"score": reading.score}
            | ({"positive": reading.positive} if reading.sure_pair and reading.positive else {}),
        )
        for reading in readings[:MAX_OFFERED]
    )


def _two_classes(columns: Sequence[str], score: str, sure: bool, by_fit: bool) -> Problem:
    other = columns[0] if columns[1] == score else columns[1]
    choices = [Choice(f"Use {_short(other)} instead", {"score": other})]
    if not sure:
        choices.insert(0, Choice(f"Use {_short(score)}", {"score": score}))
    key = "two-classes" if sure else "two-classes.fit" if by_fit else "two-classes.second"
    facts = {"first": columns[0], "second": columns[1], "used": score}
    return (note if sure else warning)(key, **facts, choices=choices)


def _other_scores(score: str, others: Sequence[str]) -> Problem:
    return warning(
        "other-scores",
        used=score,
        others=others,
        n=len(others),
        choices=(
            _compare((score, *others)),
            Choice(f"Use only {_short(score)}", {"score": score}),
            *(Choice(f"Use {_short(name)}", {"score": name}) for name in others[:MAX_OTHERS]),
        ),
    )
