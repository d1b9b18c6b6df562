"""Notes about the data that may mislead or help. They are the same on every page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from calib.analysis.summary import GROUPED
from calib.data.cells import REVERSED
from calib.loading import Problem
from calib.text import plain, plural
from calib.ui.controls import uploaders
from calib.ui.session import state
from calib.ui.session.session import Session

TRAINED_ON = (
    "The model was trained on these rows, so the results are optimistic, and a calibrator that is "
    "fitted to them is wrong for new rows."
)


@dataclass(frozen=True, slots=True)
class Note:
    text: str  # It is Markdown.
    problem: Problem | None = None  # A problem of the uploaded data, perhaps with a repair.


def show(session: Session, models: Sequence[state.Model]) -> None:
    """Draw the first note, and the others in an expander.

    A person's answer that the rows are training rows stands above all of them.
    """
    if session.unseen == "no":
        st.warning(TRAINED_ON)
    notes = notes_of(session, models)
    for note in notes[:1]:
        _note(session, note, "note_0")
    if others := notes[1:]:
        with st.expander(plural(len(others), "more note")):
            for number, note in enumerate(others, 1):
                _note(session, note, f"note_{number}")


def notes_of(session: Session, models: Sequence[state.Model]) -> list[Note]:
    """Warnings and notes about the file come first, then those of the analyses."""
    problems = [] if session.upload is None else session.upload.problems
    shown = [problem for problem in problems if problem.severity in ("warning", "note")]
    # A note that a click can settle is never folded away, because it asks for an action.
    shown.sort(key=lambda problem: not (problem.choices or problem.repair))
    notes = [Note(problem.sentence, problem) for problem in shown]
    sentences = [problem.sentence for problem in shown]
    for model in models:
        name = f"**{plain(model.name)}**: " if len(models) > 1 else ""
        for warning in model.analysis.warnings:
            again = warning.startswith(REVERSED) and any(
                REVERSED in sentence for sentence in sentences
            )
            # Overview has this one beside the number of rows.
            grouped = warning.startswith(GROUPED)
            if warning not in sentences and not again and not grouped:
                notes.append(Note(f"{name}{plain(warning)}"))
    return notes


def _note(session: Session, note: Note, key: str) -> None:
    if note.problem is not None and note.problem.severity == "warning":
        st.warning(note.text)
    else:
        st.caption(f":material/info: {note.text}")
    if note.problem is not None:
        uploaders.repair(session, note.problem, key)
