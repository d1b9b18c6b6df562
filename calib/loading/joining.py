"""joined: outcomes and scores in two files, as one table by the ids that both have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from calib.loading import name_patterns as names
from calib.loading.columns import label_text
from calib.loading.guessing.facts import UNNAMED, Facts, name_rank
from calib.loading.name_patterns import plain_name
from calib.loading.problems import refuse, warning
from calib.loading.table import Table


def joined(tables: Sequence[Table]) -> list[Table]:
    """The tables; two of which one has outcomes and the other scores become one.

    Raises
    ------
    InputError
        If no row of one file has an id of the other.
    """
    if len(tables) != 2 or any(table.log or table.tests is not None for table in tables):
        return list(tables)
    for truth, scores in (tables, tables[::-1]):
        key = _key(truth, scores)
        if key is None:
            continue
        of_truth, of_scores = (Facts(table.frame, set()) for table in (truth, scores))
        outcomes = [c for c in _truths(of_truth) if of_truth[c].few and of_truth[c].distinct > 1]
        # Each file has what the other one lacks, and only that.
        is_truth = {*outcomes} - {*scores.columns} and not _scores(of_truth)
        decided = [c for c in _truths(of_scores) if of_scores[c].two]
        if is_truth and {*_scores(of_scores)} - {*truth.columns} and not decided:
            return [_joined(truth, scores, key)]
    return list(tables)


def _key(first: Table, second: Table) -> str | None:
    """The column of ids that both tables have, each with one row per id."""
    shared = [
        name
        for name in first.columns
        if name in second.columns
        and first.frame[name].is_unique
        and second.frame[name].is_unique
        and first.frame[name].dtype.kind != "f"
    ]
    ids = [name for name in shared if re.fullmatch(names.ID_NAMES, plain_name(name))]
    return next(iter([*ids, *shared]), None)


def _truths(facts: Facts) -> list[str]:
    return [
        c
        for c in facts.looked_at()
        if name_rank(c, names.PREDICTED_NAMES) == UNNAMED > name_rank(c, names.OUTCOME_NAMES)
    ]


def _scores(facts: Facts) -> list[str]:
    return [
        c
        for c in facts.looked_at()
        if facts[c].probability and name_rank(c, names.SCORE_NAMES) < UNNAMED
    ]


def _joined(truth: Table, scores: Table, key: str) -> Table:
    both = (truth.frame, scores.frame)
    # One file may have written an id as a number, and the other as text.
    ids = [pd.Index([label_text(value) for value in frame[key]]) for frame in both]
    place = ids[0].get_indexer(ids[1])
    matched = place >= 0
    count = int(matched.sum())
    if not count:
        raise refuse("unmatched", truth=truth.name, scores=scores.name, id=key)
    new = [name for name in truth.columns if name not in scores.columns]
    left = scores.frame[matched].reset_index(drop=True)
    right = truth.frame[new].take(place[matched]).reset_index(drop=True)
    said = warning(
        "joined-files",
        truth=truth.name,
        scores=scores.name,
        id=key,
        n=count,
        n_scores=len(scores),
        n_outcomes=len(truth),
        n_unmatched=len(scores) + len(truth) - 2 * count,
    )
    return replace(
        scores,
        frame=pd.concat([left, right], axis=1),
        notes=(*scores.notes, *truth.notes, said),
        guesses=(*scores.guesses, *truth.guesses),
        name=f"{scores.name} and {truth.name}",
        file=f"{scores.file} and {truth.file}",
        commas=scores.commas or truth.commas,
        places=None if matched.all() else matched.nonzero()[0],
    )
