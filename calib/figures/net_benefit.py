"""Net benefit over all thresholds: the decision curve."""

from __future__ import annotations

from collections.abc import Sequence

from calib.analysis.decisions import NetBenefit
from calib.calibrators import CALIBRATORS
from calib.figures.chart import Chart, chart, draw
from calib.figures.cost import HOVER, LEFT, LEVEL, over_thresholds, threshold_line
from calib.figures.layers import curve, horizontal, method, reference


@chart
def net_benefit_chart(
    curves: NetBenefit, methods: Sequence[str], *, threshold: float | None = None
) -> Chart:
    """Net benefit by threshold (decision curve), compared with flagging all rows or none.

    Parameters
    ----------
    curves : NetBenefit
        Result of `calib.decisions.net_benefit`.
    methods : sequence of str
        Keys of the methods.
    threshold : float, optional
        A threshold to mark.

    References
    ----------
    Vickers and Elkin 2006, doi:10.1177/0272989X06295361.

    Examples
    --------
    >>> import calib
    >>> analysis = calib.from_predictions([0, 1, 0, 1] * 50, [0.1, 0.8, 0.3, 0.6] * 50)
    >>> curves = calib.decisions.net_benefit(analysis.held_out)
    >>> figure = calib.plot.net_benefit(curves, ["uncalibrated"], threshold=0.2)
    >>> figure.layout.xaxis.title.text
    'Threshold'
    """
    at, all_ = curves.threshold, curves.treat_all
    ends = [-0.25 * curves.base_rate, 1.08 * curves.base_rate]
    look = {"width": 1.25, "legend": True}
    layers = [
        horizontal("treat none", 0.0, name="Flag none", hover=LEVEL, **look),
        reference("treat all", at, all_, name="Flag all", dash="dash", hover=HOVER, **look),
    ]
    layers += [
        curve("benefit", method(key), at, curves.benefit[key], hover=HOVER) for key in methods
    ]
    if threshold is not None:
        layers.append(threshold_line(threshold, ends))
    return draw(
        "net benefit",
        over_thresholds("Net benefit per row", ends),
        layers,
        f"Net benefit over the threshold. {' '.join(_said(curves, key) for key in methods)}",
        left=LEFT,
    )


def _said(curves: NetBenefit, key: str) -> str:
    """Where a method does worse than acting without it."""
    worse = curves.threshold[curves.shortfall(key) > 0.0]
    label = CALIBRATORS[key].label
    if not len(worse):
        return f"{label}: nowhere below flagging all or none."
    first, last = worse.min(), worse.max()
    return f"{label}: below flagging all or none at thresholds from {first:g} to {last:g}."
