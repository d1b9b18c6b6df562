"""A button that cancels the current work. Streamlit ends a run when it draws next."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

# Seconds: what is done sooner needs no button.
PATIENCE = 2.0


@dataclass(slots=True)
class Offer:
    key: str  # of the button
    cancel: Callable[[], None]  # what makes the next run leave it
    _slot: DeltaGenerator = field(default_factory=st.empty)
    _start: float = field(default_factory=time.monotonic)
    _drawn: bool = False

    def after_a_while(self) -> None:
        """Draw the button if it has taken long; in any case let a run end that was left."""
        # Whatever asks for the state gives Streamlit the occasion to end the run.
        st.session_state.get(self.key)
        if not self._drawn and time.monotonic() > self._start + PATIENCE:
            self._slot.button("Cancel", key=self.key, icon=":material/close:", on_click=self.cancel)
            self._drawn = True

    def withdraw(self) -> None:
        self._slot.empty()
