"""Columns beside a guessed score that look like scores too."""

from __future__ import annotations

from collections.abc import Iterator

from calib.loading.checking.mapped_rows import Rows
from calib.loading.guessing.class_columns import MAX_PROFILED, Guesser, probability
from calib.loading.guessing.two_classes import Pair, choose, complements
from calib.loading.name_patterns import is_bound
from calib.loading.problems import Choice, Problem, note, warning
from calib.text import listed, plural, quoted

MAX_OFFERED = 3


def other_scores(rows: Rows) -> Iterator[Problem]:
    """Say which column was used as the score, if other columns look like scores too."""
    mapping, score = rows.mapping, rows.mapping.score
    if not isinstance(score, str) or "score" not in mapping.guessed:
        return
    model, _ = rows.table.model or ("", "")
    guesser = Guesser(rows.table.frame, {*mapping.columns(), model})
    columns = [name for name in guesser.free()[:MAX_PROFILED] if not is_bound(name)]
    others = [name for name in columns if probability(guesser.profile(name))]
    frame = guesser.frame
    for other in complements(frame, score, others):
        pair = tuple(name for name in frame.columns if name in (score, other))
        yield _two_classes(rows, score, other, choose(mapping, pair, rows.labels))
        others.remove(other)
        break
    if others:
        yield _several(score, others)


def _two_classes(rows: Rows, score: str, other: str, pair: Pair) -> Problem:
    positive = listed(rows.mapping.positives) or "the positive class"
    why = "" if pair.sure else ", because it is the second one"
    sentence = (
        f"The columns {quoted(score)} and {quoted(other)} add up to 1, so they are the scores of "
        f"both classes. {quoted(score)} was taken for that of {positive}{why}."
    )
    kind = note if pair.sure else warning
    choices = [Choice(f"Use {other[:30]!r} instead", {"score": other})]
    if not pair.sure:
        choices.append(Choice(f"Use {score[:30]!r}", {"score": score}))
    return kind("two-classes", sentence, choices=tuple(choices))


def _several(score: str, others: list[str]) -> Problem:
    looks = "looks like a score too" if len(others) == 1 else "look like scores too"
    sentence = (
        f"{quoted(score)} was taken for the score. {listed(others, MAX_OFFERED)} {looks}: compare "
        "them as models, or name the score column."
    )
    models = (score, *others)
    text = "both models" if len(models) == 2 else plural(len(models), "model")
    return warning(
        "other-scores",
        sentence,
        choices=(
            Choice(f"Compare {text}", {"score": None, "models": models}),
            Choice(f"Use only {score[:30]!r}", {"score": score}),
            *(Choice(f"Use {name[:30]!r}", {"score": name}) for name in others[:MAX_OFFERED]),
        ),
    )
