"""Parts of a page that follow a choice on their own, without the rest of it.

A page drawn as a whole costs the server several times what its diagram costs. What changes with
the bins is drawn in parts, all in one fragment: a control among them draws these parts alone. There
are few of them, since the browser draws once for each part before the diagram's turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

# Seconds in which a browser paints a chart. What arrives earlier is drawn together with it, and
# the chart waits for all of them.
PAINTED = 0.12
Draw = Callable[[], None]
Part = tuple[DeltaGenerator, Draw]


@dataclass(slots=True)
class Parts:
    """The parts of a page, each with its place.

    Attributes
    ----------
    last : (DeltaGenerator, callable)
        What was drawn already and follows after all others.
    body, beside : list of (DeltaGenerator, callable)
        Of its body, the first of which follows before all others; and controls beside it.
    drawn : bool
        Whether the page was drawn, and the parts are drawn again.
    """

    last: Part
    body: list[Part] = field(default_factory=list)
    beside: list[Part] = field(default_factory=list)
    drawn: bool = False

    def draw(self, prepare: Draw) -> None:
        """Draw them; to be called last on a page.

        Parameters
        ----------
        prepare : callable
            Called before the parts are drawn again.
        """
        if self.body:
            with self.body[0][0]:
                st.fragment(_draw)(self, prepare)
            return
        for place, draw in self.beside:
            with place:
                draw()


def _draw(parts: Parts, prepare: Draw) -> None:
    (_, draw_first), *others = parts.body
    if parts.drawn:
        prepare()
    draw_first()
    if parts.drawn:
        time.sleep(PAINTED)
    for place, draw in (*others, *parts.beside, parts.last):
        with place:
            draw()
    parts.drawn = True
