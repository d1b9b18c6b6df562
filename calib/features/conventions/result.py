"""Which convention gives a number that a paper or another tool printed?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.settings import Settings, with_view
from calib.data.base import Data
from calib.data.predictions import Predictions
from calib.data.views import BinaryView, ScoreMatrix
from calib.features.conventions.candidates import (
    NUMBERS_OF_BINS,
    PREDICTED,
    Scope,
    TypedNumber,
    other_metrics,
    problems_of,
    rules_of_thumb,
    tries_classes,
    try_all,
)
from calib.features.conventions.matching import (
    Convention,
    Conventions,
    Describer,
    Match,
    OwnConvention,
    agreeing,
    n_by_chance,
    nearest,
)
from calib.metrics.binning_rules import OWN_QUANTILE, OWN_UNIFORM, RULES

__all__ = ["Convention", "Conventions", "Match", "TypedNumber", "conventions", "conventions_of"]

NEEDS_ROWS = (
    "Codes that split equal scores in the order of the rows, such as that of Humanity's Last Exam, "
    "were not tried, because that order is not known."
)
GROUPED = "Scores are grouped in cells, so values can differ slightly from those of the rows."
MANY_CLASSES = "Means over the classes were not tried: there are too many classes and rows."
READ_AS_PERCENT = "{0} was read as {0}%."


def conventions(
    predictions: Data, value: str | float, settings: Settings | None = None
) -> Conventions:
    """List the conventions that give a number on these rows.

    Thousands of conventions are tried: numbers of bins and rules of thumb; uniform and quantile
    bins; edges closed on either side; norms; the positive class, the predicted class and means over
    the classes; clipped scores; and the rules of published codes (scikit-learn, torchmetrics,
    netcal, Guo et al. 2017, HELM, Humanity's Last Exam, Hendrycks et al.). The Brier score, log
    loss and other metrics without bins are recognised too.

    Parameters
    ----------
    predictions : Predictions or Aggregate
        If there are test rows, only they count. Codes that split equal scores in the order of the
        rows are tried for Predictions only.
    value : str or float
        The number. Its digits decide the tolerance: "0.174" is every value that is rounded to it.
        "17.4%", and 17.4 without a sign, are per cent. A float has no zeros at its end, so "0.170"
        must be text.
    settings : Settings, optional
        The view, and the bins of `Match.ours`. Default: `calib.default_settings`.

    Returns
    -------
    Conventions
        A sequence of matches, the most common conventions first. If none gives the number, it is
        empty, and its attribute `nearest` has those that come nearest.

    Raises
    ------
    ValueError
        If the value is not a number of at least 0, or the data do not have the view.

    Examples
    --------
    >>> import calib
    >>> predictions = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> matches = conventions(predictions, "0.132")
    >>> matches[0].codes, matches[0].differences
    (('scikit-learn calibration_curve', 'netcal'), ('10 uniform bins instead of 15 quantile bins',))
    >>> round(matches[0].value, 4), round(matches[0].ours, 4)
    (0.132, 0.0891)
    """
    typed = TypedNumber.read(value)
    settings = with_view(settings or Settings(), predictions)
    predictions.check_view(settings.view)
    if not isinstance(predictions, Predictions):
        counted = predictions.counted(settings.view)
        entries = counted.entries.scored
        return _search(typed, settings, entries, None, ordered=False, exact=counted.exact)
    matrix = None
    if predictions.is_matrix:
        matrix = ScoreMatrix(predictions.scores, predictions.outcome, predictions.weight)
        if predictions.test is not None:
            matrix = matrix.of(np.flatnonzero(predictions.test))
    return _search(typed, settings, predictions.view(settings.view).scored, matrix, ordered=True)


def conventions_of(
    held_out: CrossFitted, method: str, settings: Settings, value: str
) -> Conventions:
    """The same for the held-out scores of one method of an analysis with these settings."""
    typed, fits, given = TypedNumber.read(value), held_out.matrix, held_out.counted.given
    matrix = None if fits is None else replace(fits.scored, scores=fits.matrix(method))
    if method == "uncalibrated" and given is not None:
        return _search(typed, settings, given, matrix, ordered=True)
    # Calibrated scores belong to counts of equal rows, which have no order.
    exact = held_out.counted.exact
    view = held_out.view(method)
    return _search(typed, settings, view, matrix, ordered=False, exact=exact)


def _search(
    typed: TypedNumber,
    settings: Settings,
    view: BinaryView,
    matrix: ScoreMatrix | None,
    *,
    ordered: bool,
    exact: bool = True,
) -> Conventions:
    scope = _scope(settings.view, matrix)
    problems = list(problems_of(scope, view, matrix, ordered=ordered))
    base = problems[0].parts[0]
    thumbs = rules_of_thumb(base)
    tried = try_all(problems, sorted({*NUMBERS_OF_BINS, *thumbs}))
    metrics = list(other_metrics(view.cells(), matrix))
    rule = RULES[OWN_UNIFORM if settings.strategy == "uniform" else OWN_QUANTILE]
    ours = OwnConvention(scope.words, rule, settings.n_bins, view.cells())
    describer = Describer(ours, thumbs, tried, typed)
    matches = [
        describer.of_metric(metric)
        for metric in metrics
        if (typed.is_loss if metric.is_loss else typed.is_share)(np.array(metric.value))
    ]
    chosen = [typed.is_share(one.errors) for one in tried]
    matches += map(describer.of_hits, agreeing(tried, chosen))
    near = () if matches else tuple(map(describer.of_hits, nearest(tried, typed)))
    remarks = {
        READ_AS_PERCENT.format(typed.text): typed.lacks_sign,
        GROUPED: not exact,
        NEEDS_ROWS: not ordered and base.is_tied,
        MANY_CLASSES: matrix is not None and not tries_classes(matrix),
    }
    return Conventions(
        typed,
        tuple(sorted(matches, key=lambda match: (match.rank, -len(match.codes)))),
        near,
        len(metrics) + sum(int(np.isfinite(one.errors).sum()) for one in tried),
        n_by_chance(tried, np.array([one.value for one in metrics if not one.is_loss]), typed),
        ours.bins,
        tuple(text for text, holds in remarks.items() if holds),
    )


def _scope(view: str, matrix: ScoreMatrix | None) -> Scope:
    """Whose calibration a view shows."""
    kind, _, index = view.partition(":")
    if matrix is None:
        return Scope("positive class")
    if kind == "class":
        return Scope(f"class {index}", "of ")
    if kind == "within":
        return Scope(f"{index} classes ranked first")
    return PREDICTED if index == "1" else Scope(f"class ranked {index}")
