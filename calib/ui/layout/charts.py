"""Charts with buttons for PNG, SVG and CSV, and controls whose changes redraw them at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.figures import Chart
from calib.figures.svg import to_svg
from calib.reports.render.files import to_csv
from calib.ui.session import state
from calib.ui.session.session import Session

P = ParamSpec("P")
# A browser paints a chart in this time. It would draw what arrives earlier together with the chart,
# which would then wait for the whole page.
PAINT_SECONDS = 0.12
SCRIPT, DRAWING = (
    Path(__file__).with_name(f"{name}.js").read_text(encoding="utf-8")
    for name in ("chart_buttons", "drawing")
)
BUTTONS = "".join(
    f'<button type="button" name="{name.lower()}" aria-label="Download as {name}">{name}</button>'
    for name in ("PNG", "SVG", "CSV")
)
# Pixels of small panels, and of charts with a row per method or slice. There are several widths,
# because text must keep its size: on a phone two small panels stand beside each other.
SMALL_PANEL_WIDTHS, ROWS_WIDTHS = (160, 174, 230, 290), (340, 400, 470, 560, 670, 880)
SQUARE_WIDTHS = (260, 300, 342, 380, 460)


def drawing(markup: str | Mapping[int, str], key: str, drawn: Chart | None = None) -> None:
    """Show HTML with SVG. It arrives with the text around it, which a chart of Plotly does not.

    `markup` may be by width in pixels. `drawn` is the chart in it, with buttons to save it. Texts
    in the markup are escaped.
    """
    _draw({0: markup} if isinstance(markup, str) else markup, key, drawn)


def kept(build: Callable[P, Chart], *inputs: P.args, **options: P.kwargs) -> Chart:
    """A chart that is built once, and not again when its page or another control is used."""
    return state.current().memo(build, *inputs, **options)


def _svg(shown: Chart, key: str, widths: Sequence[int]) -> None:
    if not shown.is_square:
        # Its place is kept free until it is drawn, so that nothing below moves.
        st.html(f"<style>.st-key-{key} {{ min-height: {shown.height}px; }}</style>")
    _draw(state.current().memo(_by_width, shown, tuple(widths)), key, shown)


def _by_width(shown: Chart, widths: Sequence[int]) -> dict[int, str]:
    return {pixels: to_svg(shown.at_width(pixels)) for pixels in widths}


def _draw(by_width: Mapping[int, str], key: str, drawn: Chart | None) -> None:
    """Show one of these: the widest that its place has room for."""
    # `st.html` removes SVG.
    mount = st.components.v2.component("calib_drawing", js=DRAWING, isolate_styles=False)
    before, after = "", ""
    if drawn is not None:
        before, after = '<div class="saved">', f'<p class="chart-buttons">{BUTTONS}</p></div>'
    sizes = [[pixels, f"{before}{by_width[pixels]}{after}"] for pixels in sorted(by_width)]
    with st.container(key=key):
        mount(key=f"{key}_markup", data=sizes)
        if drawn is not None:
            _hidden_csv(drawn, key)


def _hidden_csv(drawn: Chart, key: str) -> None:
    """The button that the script presses. The file is made when it is asked for."""

    def content() -> bytes:
        return to_csv(drawn.frame())

    name = f"{drawn.name}.csv"
    st.download_button("CSV", content, name, "text/csv", key=f"csv_{key}", on_click="ignore")


def add_buttons() -> None:
    st.html(f"<script>{SCRIPT}</script>", unsafe_allow_javascript=True)


def chart(
    shown: Chart,
    key: str,
    on_select: Callable[[], None] | None = None,
    *,
    widths: Sequence[int] = (),
) -> None:
    """`on_select` is called after a click on a dot, which is in the state under the chart's key.

    With `widths` the chart is SVG, drawn once per width in pixels, and does not wait for Plotly.
    """
    if widths:
        _svg(shown, key, widths)
    else:
        _plot(shown, key, on_select)


def beside(
    shown: Chart, key: str, columns: int | Sequence[float], *, widths: Sequence[int] = ()
) -> DeltaGenerator:
    """Draw a chart; returns the place at its right."""
    left, right = st.columns(columns, gap="large")
    with left:
        chart(shown, key, widths=widths)
    return right


def _plot(shown: Chart, key: str, on_select: Callable[[], None] | None) -> None:
    with st.container(key=f"{'square' if shown.is_square else 'plain'}_{key}"):
        if shown.is_square:
            size = f".st-key-{key} {{ --by-width: {shown.height_by_width}; }}"
            st.html(f"<style>{size}</style>")
        st.plotly_chart(
            shown.unchecked,
            height="stretch" if shown.is_square else "content",
            key=key,
            config=shown.config,
            alt=shown.alt,
            on_select=on_select or "ignore",
            selection_mode="points",
        )
        _hidden_csv(shown, key)


def at_once(
    session: Session,
    model: state.Model,
    controls: Callable[[], None],
    body: Callable[[state.Model], None],
) -> None:
    """Draw controls, and here what follows them; the rest of the page comes after.

    `controls` may change the bins, and choices that only affect the drawing.
    """

    def follow() -> None:
        if session.painted and session.answered != session.chosen:
            # The browser drew the change before it sent it, so only the rest of the page is left.
            st.rerun()
        controls()
        body(replace(model, analysis=state.analysis(session, model.rows)))
        if session.answered != session.chosen:
            time.sleep(PAINT_SECONDS)
            st.rerun()

    st.fragment(follow)()
