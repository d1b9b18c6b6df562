"""The explorer on the page. The browser draws it and sends choices when a control is released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from calib.analysis import LiveAnalysis
from calib.analysis.slices import bin_of
from calib.crossfit.cross_fitted import CrossFitted
from calib.figures.explorer import (
    cells_script,
    compressed,
    explorer_bytes,
    explorer_data,
    packed_lines,
    packed_stops,
    rate_looks,
    script,
    stops_data,
    stops_script,
    style,
)
from calib.numerics.arrays import FloatArray
from calib.ui.controls.widgets import take_answer
from calib.ui.pages.reliability import answer, bin_view, chosen_bin
from calib.ui.session import choices, results, state
from calib.ui.session.choice import Choice
from calib.ui.session.memo import KeyedCall
from calib.ui.session.session import Session
from calib.words.measures import without_band

EXPLORER_KEY, CELLS_KEY, STOPS_KEY = "explorer", "explorer_cells", "explorer_stops"
# The browser names a choice by its key.
SENT_CHOICES: tuple[Choice[Any], ...] = (
    choices.STRATEGY,
    choices.N_BINS,
    choices.SHOWN,
    choices.AXIS,
    choices.HIDDEN,
    choices.AUTO_BINS,
    choices.BAND,
    choices.LINES,
)


def hold(session: Session, model: state.Model, shown: Sequence[str]) -> None:
    """Send the data to draw, without the choices, which change at every step."""
    mount = st.components.v2.component("calib_explorer_cells", js=cells_script())
    # Bytes are not written as JSON again, and a message that the browser has is not sent.
    with st.container(key=CELLS_KEY):
        mount(key=f"{CELLS_KEY}_data", data=_held(session, model.analysis, shown)[1])


def hold_stops(session: Session, model: state.Model, shown: Sequence[str]) -> None:
    """Send the bins of every stop of the slider, which do not change with it.

    They may take a second of processor time, so they are the last that the page sends.
    """
    mount = st.components.v2.component("calib_explorer_stops", js=stops_script())
    analysis, level = model.analysis, session.settings.confidence_level
    with st.container(key=STOPS_KEY):
        for key in shown:
            stops = session.memo(_stops, analysis.held_out, key, level)
            mount(key=f"{STOPS_KEY}_{key}", data=stops)


def _stops(held_out: CrossFitted, key: str, level: float) -> bytes:
    clustered = held_out.rows.group is not None
    return compressed(stops_data(held_out.cells[key], level, clustered=clustered))


def show(session: Session, model: state.Model, shown: Sequence[str]) -> None:
    """Draw linked panels of the shown methods. The browser redraws them without the server."""
    analysis = model.analysis
    mount = st.components.v2.component("calib_explorer", js=script(), css=style())
    sent = st.session_state.get(EXPLORER_KEY, {}).get("sent") or {}
    of = {"of": _held(session, analysis, shown)[0], "answered": sent.get("edit", 0)}
    mount(
        key=EXPLORER_KEY,
        data={**of, **_chosen(session, analysis, shown)},
        default={"sent": None},
        on_sent_change=partial(_take, session, analysis, tuple(shown)),
    )


def _held(session: Session, analysis: LiveAnalysis, shown: Sequence[str]) -> tuple[str, bytes]:
    """The name of the data to draw, and their bytes."""
    level, made = session.settings.confidence_level, KeyedCall(_data, analysis, tuple(shown))
    # The axes show the names of the classes of a matrix.
    return session.memo(made, analysis.held_out, tuple(shown), level, session.settings.view)


def _data(analysis: LiveAnalysis, shown: tuple[str, ...]) -> tuple[str, bytes]:
    held_out = analysis.held_out
    data = explorer_data(analysis, held_out.cells, shown, held_out)
    help_texts = {**data["help"], "auto_bins": choices.AUTO_BINS.help}
    return explorer_bytes({**data, "rates": rate_looks(), "help": help_texts})


def _chosen(session: Session, analysis: LiveAnalysis, shown: Sequence[str]) -> dict[str, Any]:
    picked = chosen_bin.chosen(session, analysis, shown)
    ends = session[choices.SCORE_RANGE]
    if picked.ring:
        at, curve = picked.ring[1], picked.curve
        ends = float(curve.low_edge[at]), float(curve.high_edge[at])
    values = {choice.key: choice.shown(session[choice]) for choice in SENT_CHOICES}
    axis, band, lines = (
        answer.axis(session, analysis),
        session[choices.BAND],
        session[choices.LINES],
    )
    values |= {"shown": list(shown), "axis": axis, "band": band}
    return {
        "chosen": {**values, "range": list(ends) or None},
        "rows_at": bin_view.KEY,
        "lines": packed_lines(results.rate_curves(session, analysis, shown[0], lines)),
        "stop": {key: _stop(session, analysis, key) for key in shown},
        "clusters": _of_clusters(session, analysis, shown, ends),
    }


def _stop(session: Session, analysis: LiveAnalysis, key: str) -> dict[str, str]:
    """The chosen bins of a method, which are drawn before those of all stops are there."""
    settings, held_out = analysis.settings, analysis.held_out
    level = None if held_out.rows.group is not None else session.settings.confidence_level
    stops = ((settings.n_bins, settings.strategy),)
    return session.memo(packed_stops, held_out.cells[key], level, stops)


def _of_clusters(
    session: Session, analysis: LiveAnalysis, shown: Sequence[str], ends: tuple[float, ...]
) -> dict[str, Any] | None:
    """Intervals and bands that the browser cannot compute, because they need the clusters."""
    if analysis.held_out.rows.group is None:
        return None
    level, held_out = session.settings.confidence_level, analysis.held_out
    by_method: dict[str, dict[str, Any]] = {}
    for key in shown:
        curve = analysis.methods[key].reliability
        by_method[key] = {
            "intervals": _pairs(curve.low, curve.high),
            "band": _pairs(curve.band_low, curve.band_high),
            "without_band": without_band(curve),
            # The last test is that of all rows.
            "tests": results.bins_tested(session, analysis, key).p_adjusted[:-1].tolist(),
        }
        if ends:
            of_range = session.memo(results.range_curve, held_out, key, ends, level)
            i, bounds = bin_of(of_range, ends[1]), (of_range.low, of_range.high)
            by_method[key]["difference"] = (
                None if i is None else [float(end[i] - of_range.mean_score[i]) for end in bounds]
            )
    return {
        "n_bins": analysis.settings.n_bins,
        "strategy": analysis.settings.strategy,
        "band": analysis.settings.band,
        "range": list(ends) or None,
        "methods": by_method,
    }


def _pairs(low: FloatArray, high: FloatArray) -> list[list[float]]:
    return [list(pair) for pair in zip(low.tolist(), high.tolist(), strict=True)]


def _take(session: Session, analysis: LiveAnalysis, shown: tuple[str, ...]) -> None:
    """Apply the choices from the browser. They are checked like those of a link."""
    take_answer(EXPLORER_KEY, partial(_take_sent, session, analysis, shown))


def _take_sent(
    session: Session, analysis: LiveAnalysis, shown: tuple[str, ...], answer: Mapping[str, Any]
) -> None:
    session.painted = True
    sent = answer["sent"] or {}
    before = _chosen(session, analysis, shown)["chosen"]
    for choice in SENT_CHOICES:
        if choice.key in sent and sent[choice.key] != before[choice.key]:
            _change(session, choice, sent[choice.key])
    ends = sent.get("range")
    if ends != before["range"]:
        _change(session, choices.SCORE_RANGE, ends or [])


def _change(session: Session, choice: Choice[Any], value: Any) -> None:
    """Change one choice. A value that is not allowed is ignored."""
    text = choice.values.write
    try:
        session.change(choice, choice.values.read(text(value)) if value else choice.default)
    except (TypeError, ValueError):
        return
