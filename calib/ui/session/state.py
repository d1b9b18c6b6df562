"""The current session, its address, and what is computed for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from calib.analysis import LiveAnalysis, analyze
from calib.analysis.model_comparison import (
    BestModel,
    ModelComparison,
    compare_models,
    compare_recommended,
)
from calib.analysis.plans import PlanChoice
from calib.analysis.recommendation import Recommendation
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.epsilon import takes_epsilon
from calib.crossfit.settings import Settings, Strategy
from calib.data.base import Data, Progress, no_progress
from calib.data.predictions import Predictions, rows_of
from calib.loading import Columns
from calib.loading.examples import EXAMPLES
from calib.metrics.binned import increasing_bins
from calib.ui.session import sign_in
from calib.ui.session.choice import Fact
from calib.ui.session.choices import (
    AUTO_BINS,
    BIN_AT,
    HORIZON,
    MAX_COMPARED,
    MODEL,
    N_BINS,
    SCORE_RANGE,
    SLICE_BY,
    SLICE_KIND,
    TAB,
    TIME,
)
from calib.ui.session.environment import give_back, trim
from calib.ui.session.memo import Memo, WithProgress
from calib.ui.session.open_sessions import open_sessions, secrets_of
from calib.ui.session.page_list import ROOMS
from calib.ui.session.serving import of_server
from calib.ui.session.session import SESSION, Session, linked_data, one_score_settings
from calib.ui.session.turns import in_other_process
from calib.ui.session.upload import Upload

READING_COLUMNS = "Reading the columns"


@dataclass(frozen=True, slots=True)
class Model:
    """One model's rows or counts, and their analysis: what the body of a page draws.

    `plan` is that for scores that changed. If it is for some rows, the analysis recommends it.
    """

    rows: Data
    analysis: LiveAnalysis
    name: str = ""
    plan: PlanChoice | None = None


def current() -> Session:
    """The session; made from the address at the first run."""
    # This is called dozens of times per run, so the session is looked up once.
    session: Session | None = st.session_state.get(SESSION)
    if session is None:
        give_back()
        session = st.session_state[SESSION] = session_of(st.query_params.to_dict())
    return session


def session_of(address: dict[str, str]) -> Session:
    """The session that an address describes, with its data if this browser uploaded them."""
    session = Session.from_link(address)
    earlier = open_sessions().find(_owners(), session.awaited) if session.waits else None
    if earlier is not None:
        session.resume(earlier)
    elif "ex" not in address:
        # Without an example in the address, the data that the operator named are shown.
        upload = of_server()
        if upload is not None and (not session.waits or linked_data(upload) == session.awaited):
            session.take(upload)
    return session


def _owners() -> tuple[str, ...]:
    """Whose sessions this browser may continue: those of the person, or of its secrets."""
    if sign_in.is_configured():
        here = sign_in.person()
        return () if here is None else (here.identity,)
    return secrets_of(st.context.cookies)


def browser_secret(session: Session) -> str:
    """The secret that a browser without a sign-in gets for the shown upload, or ""."""
    return "" if session.upload is None or sign_in.is_configured() else session.secret


def on_page_enter(session: Session, page: str) -> None:
    """Forget the widgets of the page that was left.

    A widget of the same key on another page is a new one, but finds the old value in the state and
    is drawn with its default instead; without it, it is given the session's value.
    """
    address = st.query_params.to_dict()
    session.team_reports.read(
        address if page == "Reports" else {},
        again=session.page == page,
    )
    if session.page == page:
        return
    # A line of Overview leads to the slices of the column that it names.
    column = st.query_params.get(SLICE_BY.link, "") if page == "Slices" else ""
    if column and column != session[SLICE_BY]:
        session.change(SLICE_BY, column)
    session.page = page
    # A link to a tab opens it, whichever tab was open before.
    if address.get(TAB.link) in TAB.values.options:
        session.change(TAB, address[TAB.link])
    for key in list(st.session_state):
        if key != SESSION:
            del st.session_state[key]


def write_address(session: Session) -> None:
    """Write what is shown into the address, so that a reload finds these data."""
    here = sign_in.person()
    owner = browser_secret(session) if here is None else here.identity
    if owner and session.upload is not None:
        open_sessions().add(owner, session)
    address = session.team_reports.address() or session.link() | ROOMS.get(session.page, {})
    if session.team_reports.moved or st.query_params.to_dict() != address:
        st.query_params.from_dict(address)


@st.cache_resource(max_entries=16, show_spinner="Making the example")
def load_example(key: str) -> Mapping[str, Predictions]:
    return EXAMPLES[key].load_models()


@st.cache_resource
def memo_of_server() -> Memo:
    """Results for the examples and the operator's data, which are kept when sessions end."""
    return Memo()


def map_anew(session: Session, mapping: Columns) -> None:
    if session.upload is not None:
        # This takes seconds if there are a thousand columns.
        with st.spinner(READING_COLUMNS):
            session.take(session.upload.mapped(mapping))


def models(session: Session) -> Mapping[str, Data]:
    """All models of the data. None while uploaded data have errors or are not there yet."""
    if session.waits:
        return {}
    return load_example(session.example) if session.upload is None else session.upload.models


def model_name(session: Session) -> str:
    """The name of the model that is shown: the chosen one, or the first; "" if there is none."""
    every = models(session)
    return session[MODEL] if session[MODEL] in every else next(iter(every), "")


def predictions(session: Session) -> Data | None:
    """The model that is shown, or None."""
    return models(session).get(model_name(session))


def analysis(session: Session, rows: Data, progress: Progress = no_progress) -> LiveAnalysis:
    """The analysis of these rows under the session's settings; only what changed is computed."""
    fitted = _fitted(session, rows, progress)
    return session.memo(WithProgress(analyze, earlier=fitted), rows, session.settings)


def _fitted(session: Session, rows: Data, progress: Progress) -> LiveAnalysis:
    """The analysis of these rows in any bins."""
    latest = session.latest
    # Only sessions keep a person's own rows, so they are freed with them.
    kept = session.memo if _of_person(session.upload) else memo_of_server()
    work = WithProgress(_fit, earlier=latest.get(rows.fingerprint), progress=progress)
    fitted = kept.heavy(work, rows, _fitting(session.settings))
    latest.pop(rows.fingerprint, None)
    latest[rows.fingerprint] = fitted
    while len(latest) > MAX_COMPARED:
        latest.pop(next(iter(latest)))
    return fitted


def best_model(session: Session, progress: Progress) -> BestModel | None:
    """The best model by its recommended scores, or None if the models cannot be compared."""
    every = models(session)

    def fit(number: int, name: str) -> LiveAnalysis:
        def report(share: float, text: str) -> None:
            progress((number + share) / len(every), f"{name}: {text}")

        return _fitted(session, every[name], report)

    try:
        fitted = {name: fit(number, name) for number, name in enumerate(every)}
        return session.memo(compare_recommended, fitted)
    except ValueError:
        return None  # The page of the model, or Calibrators, says why.


def _of_person(upload: Upload | None) -> bool:
    """Whether the data are neither an example nor those of the operator."""
    of_operator = of_server()
    if upload is None or of_operator is None:
        return upload is not None
    # A person's answer about the rows makes another Upload, with the same models.
    return upload.models is not of_operator.models


def _fit(
    rows: Data,
    settings: Settings,
    *,
    earlier: LiveAnalysis | None = None,
    progress: Progress = no_progress,
) -> LiveAnalysis:
    n_rows = rows.n_rows
    made = in_other_process(
        analyze, rows, settings, n_rows=n_rows, progress=progress, earlier=earlier
    )
    trim()
    return made


def _fitting(settings: Settings) -> Settings:
    """The settings that need a fit. Changed bins need none, so all binnings share one result."""
    return replace(settings.fitting(), confidence_level=settings.confidence_level)


def one_score_analysis(session: Session, given: Data, progress: Progress) -> LiveAnalysis:
    """The analysis of the score of a view of a matrix. Its methods are functions of that score.

    What is recommended is the calibrator of the whole matrix, as on all other pages.
    """
    rows = session.memo(Predictions.one_score, rows_of(given), session.settings.view)
    settings = one_score_settings(session.settings, Settings().view)
    fitted = session.memo.heavy(WithProgress(_fit, progress=progress), rows, _fitting(settings))
    alone = session.memo(WithProgress(analyze, earlier=fitted), rows, settings)
    advice = analysis(session, given, progress).recommendation
    return session.memo(_with_advice, alone, advice)


def _with_advice(alone: LiveAnalysis, advice: Recommendation) -> LiveAnalysis:
    return replace(alone, recommendation=advice)


def compare(session: Session, method: str, progress: Progress) -> ModelComparison:
    """All models, uncalibrated, clipped and calibrated by one method."""
    settings = replace(session.settings, methods=("uncalibrated",))
    compared = WithProgress(_compare, progress=progress)
    return session.memo.heavy(compared, models(session), settings, method)


def _compare(
    every: Mapping[str, Data], settings: Settings, method: str, *, progress: Progress
) -> ModelComparison:
    n_rows = sum(rows.n_rows for rows in every.values())
    return in_other_process(
        compare_models, every, settings, n_rows=n_rows, progress=progress, method=method
    )


def follow_auto(session: Session, latest: LiveAnalysis) -> bool:
    """If the number of bins is automatic, set it; returns whether it changed."""
    if not session[AUTO_BINS]:
        return False
    before = session.settings
    session.change(N_BINS, session.memo(_auto_bins, latest.held_out, before.strategy))
    return session.settings != before


def _auto_bins(held_out: CrossFitted, strategy: Strategy) -> int:
    fewest, most = N_BINS.values.bounds
    return max(fewest, increasing_bins(held_out.cells["uncalibrated"], strategy, most))


def time_column(session: Session, rows: Data) -> str:
    """The chosen column, or that of the data, or their only column of dates; "" is none."""
    chosen = session[TIME]
    if chosen is not None and chosen in ("", *rows.columns):
        return chosen
    dates = [name for name in rows.columns if rows.holds_dates(name)]
    return rows.time_name or (dates[0] if len(dates) == 1 else "")


def horizon(session: Session) -> int:
    """Days after which outcomes are final: as chosen, or of the example, or 0."""
    chosen = session[HORIZON]
    if chosen is not None:
        return chosen
    return EXAMPLES[session.example].horizon if session.upload is None else 0


def facts(session: Session) -> set[Fact]:
    rows = predictions(session)
    facts_hold: dict[Fact, bool] = {
        "in a bin": session[BIN_AT] is not None or bool(session[SCORE_RANGE]),
        "several models": len(models(session)) > 1,
        "draws folds": rows is None or not (rows.fold_names or rows.is_split),
        "sets bins": not session[AUTO_BINS],
        "uses epsilon": any(map(takes_epsilon, session.settings.methods)),
        "has columns": rows is None or bool(rows.columns),
        "by class": by_class(session),
        "matrix with columns": rows is not None and rows.is_matrix and bool(rows.columns),
    }
    return {fact for fact, holds in facts_hold.items() if holds}


def by_class(session: Session) -> bool:
    """Whether the page Slices shows the classes of a matrix, and not the values of a column."""
    rows = predictions(session)
    if session.page != "Slices" or rows is None or not rows.is_matrix:
        return False
    return session[SLICE_KIND] == "class" or not rows.columns


def name(session: Session) -> str:
    if session.upload is None:
        return EXAMPLES[session.example].title
    return session.upload.name
