"""The error rate of rows that are decided automatically, and its bound, over their share."""

from __future__ import annotations

import numpy as np

from calib.analysis.decisions.certificate import Certificate, CertifiedSide
from calib.figures.axes import PERCENT_TICKS, PanelAxis, one
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import HOVER_TEXT, Layer, Line, Note, Subject, area, reference
from calib.figures.theme import ADVISED, DOUBT, GREY, LINE_WIDTH, MethodStyle, faded
from calib.numerics.arrays import FloatArray
from calib.text import count, level, percent, plural, significant

WIDTH, HEIGHT, LEFT = 560, 260, 58
# The axis ends at this many times the highest allowed error, so that the crossing is seen. If
# nothing is certified, it ends at least at this many times the lowest bound.
MAX_LIMITS, ROOM = 3.0, 1.5
SHADE = 0.1
NAMES = {"above": "Accepted", "below": "Rejected"}
SUBJECTS = {
    "above": Subject("above", NAMES["above"], MethodStyle(ADVISED, "solid", "circle")),
    "below": Subject("below", NAMES["below"], MethodStyle(DOUBT, "solid", "square")),
}


@chart
def certified_error_chart(certificate: Certificate) -> Chart:
    """Error rate over the share of rows that are decided automatically, with its upper bound.

    Parameters
    ----------
    certificate : Certificate
        Result of `calib.certify`.

    Examples
    --------
    >>> import numpy as np
    >>> import calib
    >>> score = np.linspace(0.5, 1.0, 500)
    >>> correct = np.random.default_rng(0).random(500) < score
    >>> certificate = calib.certify(calib.Predictions.from_arrays(correct, score), 0.1)
    >>> calib.plot.certified_error(certificate).layout.yaxis.title.text
    'Error rate'
    """
    top = MAX_LIMITS * certificate.max_error
    if not certificate.share:
        # Sides that err far too often are drawn at least where their bounds are lowest.
        top = max(top, ROOM * max(float(side.curve_bound.min()) for side in certificate.sides))
    top = min(1.0, top)
    both = certificate.below is not None
    limit = [certificate.max_error] * 2
    name = f"Highest error {significant(100.0 * certificate.max_error)}%"
    line = reference(1.5, dash="dash")
    bound_level = level(certificate.level_of_sides)
    certified = [side for side in certificate.sides if side.n_rows]
    layers = [_decided(certificate, side, top) for side in certified]
    layers.append(Layer("limit", [0.0, 1.0], limit, line=line, name=name))
    for side in certificate.sides:
        layers += _side(certificate, side, top)
    # Both sides have the same kinds of lines, and their words would cover them.
    layers += [
        Layer(f"legend {key}", [None], [None], line=look, name=words, legend=True)
        for key, words, look in (
            ("error", "Observed", Line(GREY, LINE_WIDTH)),
            ("bound", f"Upper bound ({bound_level})", Line(GREY, 1.5, "dot")),
            ("limit", name, line),
        )
    ]
    across = PanelAxis(
        "Rows by score, the lowest first" if both else "Share of rows decided automatically",
        range=[-0.01, 1.01],
        nticks=6,
        tickformat=PERCENT_TICKS,
    )
    upward = PanelAxis("Error rate", range=[0.0, top], nticks=5, tickformat=PERCENT_TICKS)
    return draw(
        "certified error",
        one(across, upward, WIDTH, HEIGHT),
        layers,
        "Error rate over the share of rows decided automatically.",
        title=_title(certificate),
        details=f"{plural(certificate.n_rows, 'row')} · bounds at {bound_level}",
        left=LEFT,
        notes=[_note(certificate, side, top) for side in certified],
    )


def _title(certificate: Certificate) -> str:
    """The observed error rate. The sentence above the chart says the share and the limit."""
    decided = sum(side.n_rows for side in certificate.sides)
    if not decided:
        return "No rows are decided automatically"
    rate = percent(sum(side.n_errors for side in certificate.sides) / decided)
    return f"{rate} of the rows decided automatically are errors"


def _place(certificate: Certificate, side: CertifiedSide, rows: FloatArray) -> FloatArray:
    """Where so many rows of a side end. Of two sides, accepted rows begin at the right."""
    share = rows / certificate.n_rows
    return 1.0 - share if side.side == "above" and certificate.below is not None else share


def _decided(certificate: Certificate, side: CertifiedSide, top: float) -> Layer:
    """The rows of a side that are certified."""
    of = SUBJECTS[side.side]
    ends = _place(certificate, side, np.array([0.0, side.n_rows]))
    shade = faded(of.style.color, SHADE)
    return area("decided", ends, np.zeros(2), np.full(2, top), color=shade, of=of)


def _note(certificate: Certificate, side: CertifiedSide, top: float) -> Note:
    """How many rows of a side are certified, at its end of the axis."""
    of, share = SUBJECTS[side.side], percent(certificate.share_of(side), 0)
    at = float(_place(certificate, side, np.zeros(1))[0])
    words = f"<b>{share} {of.name.lower()}</b>"
    return Note(abs(at - 0.01), 0.94 * top, words, "right" if at else "left", of.style.color)


def _side(certificate: Certificate, side: CertifiedSide, top: float) -> list[Layer]:
    """The error rate of one side, its bound, and the certified share."""
    of = SUBJECTS[side.side]
    place = _place(certificate, side, side.curve_rows.astype(np.float64))
    share = side.curve_rows / certificate.n_rows
    error = side.curve_errors / side.curve_rows
    sign = "≥" if side.side == "above" else "≤"
    hover = [
        f"scores {sign} {significant(100.0 * t, 4)}%: {percent(s)} of the rows<br>"
        f"{count(k)} errors, {percent(e)}, bound {percent(b)}"
        for t, s, k, e, b in zip(
            side.curve_threshold, share, side.curve_errors, error, side.curve_bound, strict=True
        )
    ]

    def line(key: str, values: FloatArray, look: Line, name: str) -> Layer:
        # A line that leaves the axis would be cut off, but a browser counts its whole place.
        inside = [value if value <= top else None for value in values.tolist()]
        return Layer(
            key,
            place,
            inside,
            of=of,
            line=look,
            name=f"{of.name}: {name}",
            hovertext=hover,
            hover=HOVER_TEXT,
        )

    color = of.style.color
    layers = [
        line("bound", side.curve_bound, Line(color, 1.5, "dot"), "bound"),
        line("error", error, Line(color, LINE_WIDTH), "observed"),
    ]
    if side.threshold is not None:
        at = _place(certificate, side, np.array([float(side.n_rows)]))
        layers.append(
            Layer(
                "certified",
                at,
                [side.n_errors / side.n_rows],
                of=of,
                marker=of.marker(11),
                name=f"{of.name}: certified",
                hovertext=[f"{percent(certificate.share_of(side))} of the rows"],
                hover=HOVER_TEXT,
            )
        )
    return layers
