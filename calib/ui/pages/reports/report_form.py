"""The report's form: its words, the files to take away, and saving it for the team."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import streamlit as st

from calib.analysis import LiveAnalysis
from calib.analysis.decisions import Costs
from calib.analysis.model_comparison import ModelComparison, compared_method
from calib.data.base import Data, no_progress
from calib.reports import Checklist, Declared, Grade, Report, checklist, parts_of, with_metrics
from calib.reports.contents.disclosure import check_rows
from calib.store import Store, StoreError
from calib.text import day_words, plain, plural
from calib.ui.controls import report_files
from calib.ui.controls.widgets import ask, field
from calib.ui.layout import frame
from calib.ui.pages.reports import sharing
from calib.ui.session import identity, results, sign_in, state
from calib.ui.session.choices import (
    CERTAINTY,
    CROSS,
    MAX_ERROR,
    N_RANGES,
    SIDES,
    SLICE_BY,
    UNIT,
    Chosen,
)
from calib.ui.session.named_sources import names_of
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session
from calib.ui.session.team_reports import REPORT

GRADES: Mapping[Grade, str] = {
    "guarded": "Groups of at least 10 rows",
    "exact": "Exact scores",
}
PRINTED_AS = {
    "": "Whole report",
    "clinical": "Clinical evaluation (TRIPOD+AI, STRATOS)",
    "credit": "Validation of a PD (ECB sections)",
    "ai-act": "EU AI Act documentation",
    "plain": "Plain words",
}
PRINTED_AS_HELP = (
    "A template prints the report under the items of a checklist. Each item is answered with "
    "numbers, refused with the reason, or left to you."
)
PRIVACY = (
    "A report has no rows. `calib verify` computes the numbers of exact reports again. Of others "
    "it checks the seal and the sums."
)
SAVED = "Saved. This link is permanent; later changes are saved as a new report."
ALREADY_SAVED = "Already saved: an equal report is in the list. This is its link."
EXACT = (
    "Every score with its numbers of rows and positive rows, also within each slice, can be read "
    "from the files of an exact report. It contains no other column."
)


def form(session: Session, store: Store | None) -> None:
    """The texts of the next report, its files, and saving it. Nothing is made before a click."""
    frame.pick_model(session)
    model = frame.model(session)
    try:
        check_rows(model.analysis)
    except ValueError as error:
        st.error(plain(str(error)))
        return
    saves = store is not None and not (identity.is_read_only() or store.read_only)
    words, note = st.columns([2, 3])
    with words:
        title = f"Calibration of {model.analysis.data.name}, {day_words(datetime.now(UTC))}"
        field(session, "title", "Title", st.text_input, placeholder=title)
    with note:
        hint = "What the reader should know: model, rows, decision"
        look = {"placeholder": hint, "height": "content"}
        field(session, "note", "Note", st.text_area, **look)
    title = "Prepared by, reviewed by, sign-off, model version, tags, privacy"
    with st.expander(title, key="report_details"):
        _details(session, saves=saves)
    _template(session)
    if session.team_reports.grade == "exact":
        st.warning(EXACT)
    make = partial(report_of, session, model)
    with st.container(horizontal=True, vertical_alignment="bottom", key="make_report"):
        if store is not None and saves:
            _saving(session, store, make)
        report_files.downloads(make, model.analysis.data.name)
    if store is not None and not saves:
        st.caption("This server is read-only: it shows reports, and none can be saved.")
    _saved(session)


def _details(session: Session, *, saves: bool) -> None:
    browser, here = session.team_reports, sign_in.person()
    if here is not None:
        session.author = here.name
    preparer, reviewer, sign_off = st.columns(3)
    with preparer:
        look = {"placeholder": "Who made it", "disabled": here is not None}
        field(session, "author", "Prepared by", st.text_input, **look)
    with reviewer:
        field(browser, "reviewer", "Reviewed by", st.text_input)
    with sign_off:
        field(browser, "sign_off", "Sign-off (name, date)", st.text_input)
    privacy, version, tags = st.columns(3)
    with privacy:
        choice = {"options": list(GRADES), "format_func": GRADES.__getitem__, "horizontal": True}
        field(browser, "grade", "Privacy", st.radio, help=PRIVACY, **choice)
    with version:
        look = {"placeholder": "Such as churn 2.3"}
        field(browser, "model_version", "Model and its version", st.text_input, **look)
    if saves:
        with tags:
            field(browser, "tags", "Tags", st.text_input, placeholder="Separated by commas")


def _template(session: Session) -> None:
    """The choice of a checklist, and the fields that only its author can fill in."""
    browser = session.team_reports
    look = {"options": list(PRINTED_AS), "format_func": PRINTED_AS.__getitem__, "width": 400}
    field(browser, "template", "Template", st.selectbox, help=PRINTED_AS_HELP, **look)
    if (chosen := checklist(browser.template)) is None:
        return
    fields = chosen.template.written
    with st.expander(f"{plural(len(fields), 'field')} to fill in", key="report_fields"):
        places = st.columns(2)
        for number, item in enumerate(fields):
            key = f"{browser.template} {item.key}"
            with places[number % 2]:
                ask(
                    st.text_input,
                    f"answer {key}",
                    browser.answers.get(key, ""),
                    partial(browser.answers.__setitem__, key),
                    label=plain(f"{item.id} {item.name}"),
                    placeholder=item.write,
                )


def _checklist(session: Session) -> Checklist | None:
    """The template of the form with the fields that are filled in."""
    browser = session.team_reports
    chosen = checklist(browser.template)
    if chosen is None:
        return None
    keys = [item.key for item in chosen.template.written]
    texts = {key: browser.answers.get(f"{browser.template} {key}", "").strip() for key in keys}
    return replace(chosen, answers={key: text for key, text in texts.items() if text})


def report_of(session: Session, model: state.Model) -> Report:
    rows, columns, unit = model.rows, model.rows.columns, session[UNIT]
    time, first, cross = state.time_column(session, rows), session[SLICE_BY], session[CROSS]
    first = first if first in columns else next(iter(columns), "")
    # The sections use the first column, so the chosen one is first.
    slices: list[tuple[str, ...]] = [
        (name,) for name in dict.fromkeys((first, *columns)) if name and name != time
    ]
    if cross in rows.crossable_with(first):
        slices.append((first, cross))
    source, table = names_of(session.upload.source if session.upload else None)
    # The scores of the examples are out of fold.
    declared = session.unseen if session.upload else "yes"
    costs = results.costs(session.chosen)
    asked = any(session[one] != one.default for one in (MAX_ERROR, CERTAINTY, SIDES))
    made = session.memo.heavy(
        _report,
        rows,
        model.analysis,
        declared,
        session.team_reports.grade,
        # If a source has the rows, the report names it, without path and address.
        json.dumps({"source": source, "table": table}, ensure_ascii=False) if source else "",
        slices=tuple(slices),
        n_ranges=session[N_RANGES],
        time=time,
        unit=unit or None,
        costs=None if costs == results.costs(Chosen()) else costs,
        error_limit=results.error_limit(session, model) if asked else None,
        template=session.team_reports.template,
        models=_comparison(session, model.analysis),
        model=model.name,
    )
    browser = session.team_reports
    return made.edited(
        title=session.title,
        author=session.author,
        note=session.note,
        reviewer=browser.reviewer,
        sign_off=browser.sign_off,
        model_version=browser.model_version,
        checklist=_checklist(session),
    )


def _comparison(session: Session, analysis: LiveAnalysis) -> ModelComparison | None:
    """All models of the data, or None if there is one, or they cannot be compared."""
    if len(state.models(session)) < 2:
        return None
    try:
        return state.compare(session, compared_method(analysis), no_progress)
    except ValueError:
        return None  # The page Calibrators says why.


def _report(
    rows: Data,
    analysis: LiveAnalysis,
    declared: Declared,
    grade: Grade,
    source: str,
    template: str,
    **parts: Any,
) -> Report:
    if (chosen := checklist(template)) is not None:
        analysis = with_metrics(analysis, chosen)
        parts["costs"] = parts["costs"] or Costs()
    made = parts_of(rows, analysis, **parts)
    return Report.from_analysis(
        analysis, parts=made, held_out_declared=declared, grade=grade, source=source
    )


def _saving(session: Session, store: Store, make: Callable[[], Report]) -> None:
    browser = session.team_reports
    if not st.button("Save", key="save", type="primary", icon=":material/save:"):
        return
    try:
        with st.spinner("Making the report"):
            sharing.save(session, store, make(), browser.tags)
    except (StoreError, ValueError) as error:
        st.error(plain(str(error)))
        return
    # The number of saved reports is above the form.
    browser.writing = True
    st.rerun()


def _saved(session: Session) -> None:
    report_id = session.team_reports.saved
    if not report_id:
        return
    st.success(ALREADY_SAVED if session.team_reports.is_repeated else SAVED)
    sharing.link(report_id)
    icon, there = ":material/description:", {REPORT: report_id}
    st.page_link(PAGES["Reports"], label="**Open it**", icon=icon, query_params=there)
