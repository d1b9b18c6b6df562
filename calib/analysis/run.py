"""Compute an analysis from predictions and settings, reusing an earlier one if possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar

import numpy as np

from calib.analysis.analysis import LiveAnalysis, MethodResult
from calib.analysis.method_results import (
    difference_from_best,
    method_results,
    reliability,
    with_bins,
)
from calib.analysis.recommendation import Recommendation, driven_by_certain_rows, recommend
from calib.analysis.summary import names_of, summarize, table_columns, warnings_of
from calib.analysis.verdict import SIGNIFICANCE, adjusted
from calib.analysis.verdicts import verdict_after, verdict_before
from calib.calibrators.stack import Stack
from calib.crossfit.cross_fitted import CrossFitted, by_loss, choose, in_order, losses
from calib.crossfit.epsilon import rows_outside
from calib.crossfit.fitting import cross_fit
from calib.crossfit.matrix_comparison import LiveMulticlassComparison, compare, log_losses
from calib.crossfit.settings import Settings, default_settings, with_view
from calib.curves.functions import compact_logit_curve
from calib.data.base import Data, Progress, check_data, no_progress
from calib.metrics.proper import row_log_loss
from calib.numerics.arrays import single_thread
from calib.numerics.intervals import Estimate
from calib.numerics.score_grid import ranges
from calib.numerics.transforms import automatic_epsilon
from calib.words.findings import view_words

Value = TypeVar("Value")


class LazyMapping(Mapping[str, Value]):
    """Values by key. Each value is computed when it is first read, and then kept."""

    def __init__(self, keys: Iterable[str], make: Callable[[str], Value]) -> None:
        self._keys = dict.fromkeys(keys)
        self._make = cache(make)

    def __getitem__(self, key: str) -> Value:
        if key not in self._keys:
            raise KeyError(key)
        return self._make(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def analyze(
    predictions: Data,
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    earlier: LiveAnalysis | None = None,
    progress: Progress = no_progress,
) -> LiveAnalysis:
    """Analyse predictions, as `calib.analyze` says. The order of the rows has no effect.

    A matrix is calibrated as a whole, and shown in the view of the settings. No calibrator is
    fitted again if only the bins differ from the `earlier` settings.

    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> y = rng.random(500) < p**2
    >>> predictions = Predictions.from_arrays(y, p)
    >>> analysis = analyze(predictions)
    >>> analysis.verdict.kind
    'too high'
    >>> from calib.data.aggregating import aggregate
    >>> counted = analyze(aggregate(predictions))
    >>> counted.table().equals(analysis.table())
    True
    """
    with single_thread():
        chosen = with_view(_settings(settings, predictions), predictions)
        return _analyze(predictions, chosen, earlier, progress)


def _settings(given: Settings | Mapping[str, Any] | None, predictions: Data) -> Settings:
    check_data(predictions)
    if isinstance(given, Settings):
        return given
    if not isinstance(given, Mapping | None):
        raise TypeError(f"settings must be Settings or a mapping, got {type(given).__name__}.")
    names, values = [field.name for field in fields(Settings)], dict(given or {})
    if unknown := [name for name in values if name not in names]:
        raise ValueError(f"settings must be among {', '.join(names)}, got {unknown[0]!r}.")
    try:
        return replace(default_settings(predictions), **values)
    except TypeError as error:
        kinds = "settings must have values of their kinds"
        raise TypeError(f"{kinds}, got {values}: {error}") from None


def _analyze(
    predictions: Data, settings: Settings, earlier: LiveAnalysis | None, progress: Progress
) -> LiveAnalysis:
    reused = _reusable(earlier, predictions)
    if reused and reused.settings == settings:
        return reused
    if reused and reused.settings.fitting() == settings.fitting():
        if reused.settings.confidence_level == settings.confidence_level:
            return _rebin(reused, settings)
        progress(0.0, "Intervals at another level")
        held_out = reused.held_out
    else:
        held_out = cross_fit(predictions, settings, progress, reused.held_out if reused else None)
    compared = None
    if held_out.matrix is not None:
        earlier_matrix = reused.multiclass if reused else None
        compared = compare(held_out.matrix, settings, progress, earlier_matrix)
    return _evaluate(predictions, held_out, settings, compared)


def _reusable(earlier: LiveAnalysis | None, predictions: Data) -> LiveAnalysis | None:
    """The earlier analysis with the current names, or None if it is of other rows."""
    if earlier is None or earlier.data.fingerprint != predictions.fingerprint:
        return None
    renamed = replace(earlier.data, **names_of(predictions))
    if renamed == earlier.data:
        return earlier
    if renamed.has_answers != earlier.data.has_answers:
        return None  # The verdict has other words.
    return replace(earlier, data=renamed, source=predictions)


def _evaluate(
    predictions: Data,
    held_out: CrossFitted,
    settings: Settings,
    compared: LiveMulticlassComparison | None,
) -> LiveAnalysis:
    methods = method_results(held_out, settings)
    if compared is None:
        advice = _recommendation(held_out, methods, settings)
    else:
        advice = _recommendation_of_matrix(compared, settings)
    rule = automatic_epsilon(held_out.fitted_on.score, settings.epsilon_rule)
    epsilon = settings.epsilon or rule
    notes = compared.notes if compared else ()
    data = summarize(predictions, settings.view, held_out)
    answers = compared is None and data.has_answers
    judged = (settings, advice, compared)
    return LiveAnalysis(
        settings=settings,
        data=data,
        columns=table_columns(
            settings, predictions.view_label(settings.view) if predictions.is_matrix else ""
        ),
        methods={
            key: methods[key] for key in (compared.results if compared else in_order(methods))
        },
        fitted_reliability=reliability(held_out.fitted_on, settings, held_out.fitted_clusters),
        compact_logit=compact_logit_curve(epsilon, rule, rows_outside(held_out.fitted_on, epsilon)),
        verdict=verdict_before(held_out, methods["uncalibrated"], *judged, answers=answers),
        recommendation=advice,
        warnings=tuple(
            dict.fromkeys(
                (*notes, *warnings_of(predictions, held_out, "" if compared else advice.method))
            )
        ),
        multiclass=compared,
        after=verdict_after(held_out, methods, settings, advice.method, compared, answers=answers),
        held_out=held_out,
        source=predictions,
    )


def _rebin(earlier: LiveAnalysis, settings: Settings) -> LiveAnalysis:
    """The same analysis with other bins. The time does not depend on the number of rows."""
    held_out = earlier.held_out
    return replace(
        earlier,
        settings=settings,
        columns=table_columns(settings, earlier.data.positive_name if earlier.multiclass else ""),
        methods=LazyMapping(
            earlier.methods, lambda key: with_bins(earlier.methods[key], held_out, settings)
        ),
        fitted_reliability=reliability(held_out.fitted_on, settings, held_out.fitted_clusters),
    )


def _recommendation(
    held_out: CrossFitted, methods: Mapping[str, MethodResult], settings: Settings
) -> Recommendation:
    log_losses = {key: method.metrics["log_loss"] for key, method in methods.items()}
    best = by_loss(methods)[0]
    level = settings.confidence_level
    to_best = LazyMapping(methods, lambda key: difference_from_best(held_out, key, best, level))
    changes = {key: method.differences["log_loss"] for key, method in methods.items()}
    cells = held_out.cells["uncalibrated"]
    p_values = adjusted(methods["uncalibrated"].all_tests).values()
    reject, stack = any(p < SIGNIFICANCE for p in p_values), held_out.calibrators.get("stack")
    chosen = choose(
        log_losses if reject else log_losses | _at_other_digits(held_out, log_losses, best),
        cells.in_effective_rows().total_weight,
        stack.weights_ if isinstance(stack, Stack) else {},
        tests_reject=reject,
    )
    advice = recommend(
        chosen, log_losses, to_best, changes, cells, level=level, tests_reject=reject
    )
    if advice.method == "":
        return advice
    changed = best if advice.method == "uncalibrated" else advice.method
    before, after = (losses(held_out, key)["log_loss"] for key in ("uncalibrated", changed))
    driven = driven_by_certain_rows(held_out.view("uncalibrated"), after - before)
    return replace(advice, reasons=(*advice.reasons, *driven))


def _at_other_digits(
    held_out: CrossFitted, log_losses: Mapping[str, Estimate], best: str
) -> dict[str, Estimate]:
    """The log loss of scores that are moved towards a method's as far as their step allows.

    Scores that no test rejects are kept if other digits would do as well.
    """
    rows = held_out.view("uncalibrated")
    if not rows.step:
        return {}
    moved = np.clip(held_out.scores[best], *ranges(rows.score, rows.step))
    loss = float(np.average(row_log_loss(rows.outcome, moved), weights=rows.weights))
    return {"uncalibrated": Estimate(min(loss, log_losses["uncalibrated"].value))}


def _recommendation_of_matrix(
    compared: LiveMulticlassComparison, settings: Settings
) -> Recommendation:
    return recommend(
        compared.recommended,
        *log_losses(compared.results),
        compared.held_out.top_label.cells(),
        view_words("top:1").outcomes,
        "held-out multiclass log loss",
        settings.confidence_level,
    )
