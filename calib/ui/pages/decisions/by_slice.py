"""The error rates of each slice at the threshold of the page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from calib.analysis.decisions import DecisionTable
from calib.blocks import decisions as decision_blocks
from calib.ui.controls import widgets
from calib.ui.layout import blocks
from calib.ui.session import results, state
from calib.ui.session.session import Session

KEY = "rates_by_slice"


def section(
    session: Session, model: state.Model, decided: DecisionTable, shown: Sequence[str]
) -> None:
    """Draw the rates while the section is open: they are counted anew at every threshold."""
    if not model.rows.columns:
        return
    folded = st.expander("Error rates by slice", key=KEY, on_change="rerun")
    if not folded.open:
        return
    with folded:
        with widgets.toolbar("rates"):
            columns = widgets.slice_columns(session, model.rows)
        cut = results.sliced(session, model, columns)
        rates = results.error_rates(session, cut, decided, shown)
        made = decision_blocks.error_rates(model.analysis, decided, rates, cut.slicing.columns)
        blocks.show_all(made)
