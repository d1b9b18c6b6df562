"""The session: what one person loaded and chose, and every result that is kept.

One object of ours holds it, since widgets forget their values when another page is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any, Literal, TypeVar
from weakref import WeakValueDictionary

import streamlit as st

from calib.analysis import LiveAnalysis, analyze
from calib.analysis.model_comparison import ModelComparison, compare_models
from calib.calibrators import CALIBRATORS
from calib.core.predictions import Predictions
from calib.core.progress import Progress, no_progress
from calib.core.views import check_view
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.defaults import default_settings
from calib.crossfit.settings import Settings, Strategy
from calib.loading import ColumnMapping, Problem
from calib.loading.examples import EXAMPLES
from calib.metrics.sweep import increasing_bins
from calib.reports.contents import Declared
from calib.ui.choice import Choice, Situation
from calib.ui.choices import (
    AUTO_BINS,
    BIN_AT,
    CHOICES,
    MODELS,
    N_BINS,
    SCORE_RANGE,
    VIEW,
    Chosen,
)
from calib.ui.links import FINGERPRINT_SHOWN, Link, Source, decode, encode
from calib.ui.memo import Memo, Unkeyed, keep
from calib.ui.memory import give_back, trim
from calib.ui.pending import Pending
from calib.ui.report_browser import ReportBrowser
from calib.ui.upload import Upload

T = TypeVar("T")
SESSION = "calib"
TOKEN = "_streamlit_xsrf"
# Of a session that a reload goes on with.
RESUMED = ("upload", "unseen", "title", "author", "note", "memo")
FIRST_EXAMPLE = next(iter(EXAMPLES))
# Models side by side: more would be too narrow to read.
MAX_SHOWN = 4
READING = "Reading the columns as they are meant now"
# Results that grow with the rows.
LARGE: Mapping[Callable[..., Any], int] = {
    analyze: MAX_SHOWN,
    compare_models: 4,
    Predictions.one_score: 3,
}


@dataclass(slots=True, weakref_slot=True)
class Session:
    """Everything of one person's visit.

    Attributes
    ----------
    chosen : Chosen
        The value of every choice; ``session[choice]`` is one of them.
    example : str
        Key of the built-in example that is shown while there is no upload.
    upload : Upload or None
        A person's own data.
    unseen : {"yes", "no", "unknown"}
        Answer to "Were these predictions made on rows the model was not trained on?".
    file_problems : tuple of Problem
        Why the last file could not be read.
    unread : (tuple of (str, bytes), str) or None
        Names and bytes of files that can be read in two ways, and their place, until it is known.
    refused : tuple of str
        What the link asked for and did not get.
    awaited : Source
        A person's own data that the link was made for, until they are here.
    offered : Upload or None
        Data that came instead of those.
    n_reads : int
        Files read so far; part of the uploaders' keys, since a kept file is copied every rerun.
    explains : bool
        Whether "How to read it" is open.
    title, author, note : str
        Of the report.
    start : Settings
        Where the shown data begin: their defaults.
    named : set of Choice
        What a person or a link chose: its settings stay when other data are shown.
    is_matrix : bool
        Whether the shown data have one score per class.
    report_browser : ReportBrowser
        What of the team's reports is open, and what is looked for.
    page : str
        Title of the page that is shown.
    drawn : int
        Number of the model that the body of the page is being drawn for.
    answered : Chosen or None
        Choices that the whole page was last drawn for.
    pending : Pending or None
        What waits until all models are drawn; None while a single one is.
    memo : Memo
        Results on what is shown.
    latest : dict of str to LiveAnalysis
        The last result of each model, by fingerprint: the next takes from it what did not change.
    """

    chosen: Chosen = field(default_factory=Chosen)
    example: str = FIRST_EXAMPLE
    upload: Upload | None = None
    unseen: Declared = "unknown"
    file_problems: tuple[Problem, ...] = ()
    unread: tuple[tuple[tuple[str, bytes], ...], Literal["data", "test"]] | None = None
    refused: tuple[str, ...] = ()
    awaited: Source = field(default_factory=Source)
    offered: Upload | None = None
    n_reads: int = 0
    explains: bool = False
    title: str = ""
    author: str = ""
    note: str = ""
    start: Settings = field(default_factory=Settings)
    named: set[Choice[Any]] = field(default_factory=set)
    is_matrix: bool = False
    report_browser: ReportBrowser = field(default_factory=ReportBrowser)
    page: str = ""
    drawn: int = 0
    answered: Chosen | None = None
    pending: Pending | None = None
    memo: Memo = field(default_factory=lambda: Memo(fewer=LARGE))
    latest: dict[str, LiveAnalysis] = field(default_factory=dict)

    @classmethod
    def from_link(cls, named: dict[str, str]) -> Session:
        """A new session as an address describes it."""
        link, refused = decode(named)
        return cls(
            chosen=link.chosen,
            named=set(link.named),
            example=link.example or FIRST_EXAMPLE,
            refused=refused,
            awaited=link.source,
        )

    def link(self) -> dict[str, str]:
        """The address that restores this session, all but a person's own data."""
        if self.upload is None:
            example = None if self.example == FIRST_EXAMPLE else self.example
            return encode(Link(self.chosen, example, self.awaited, self.start))
        source = source_of(self.upload)
        return encode(Link(self.chosen, source=source, start=self.start))

    @property
    def waits(self) -> bool:
        """Whether the link is for data that are not here: nothing else is shown instead."""
        return self.upload is None and bool(self.awaited)

    def receive(self, upload: Upload) -> None:
        """Show data that were dropped; while others are awaited, ask first."""
        awaited, known = self.awaited.fingerprint, upload.fingerprint[:FINGERPRINT_SHOWN]
        if self.waits and awaited and known != awaited:
            self.offered, self.file_problems, self.unread = upload, (), None
        else:
            self.take(upload)

    def resume(self, earlier: Session) -> None:
        """Go on with the data, the words and the results of a session of the same browser."""
        for name in RESUMED:
            setattr(self, name, getattr(earlier, name))
        self.awaited = Source()

    @property
    def settings(self) -> Settings:
        """The choices that the analysis depends on."""
        return self.chosen.settings

    def __getitem__(self, choice: Choice[T]) -> T:
        return self.chosen[choice]

    def change(self, choice: Choice[T], value: T) -> None:
        """Make one choice."""
        self.chosen = self.chosen.having(choice, value)
        self.named.add(choice)
        self.reset(*(CHOICES[key] for key in choice.forgets))

    def reset(self, *choices: Choice[Any]) -> None:
        """Put some choices back to where the data start."""
        for choice in choices:
            start = getattr(self.start, choice.key) if choice.is_setting else choice.default
            self.chosen = self.chosen.having(choice, start)
            self.named.discard(choice)

    def reset_all(self) -> None:
        """Put all choices back to where the data start."""
        self.chosen = Chosen(self.start)
        self.named.clear()

    def follow(self, link: Link) -> None:
        """Show the example of a link with its settings, as if the link had been opened."""
        if link.example is not None:
            self.choose_example(link.example)
        self.chosen, self.start = link.chosen, Settings()
        self.named = set(link.chosen.changed(self.start)) | link.named

    def adapt_to_data(self, rows: Predictions) -> None:
        """Begin where these rows begin, but for what was chosen and fits them."""
        start = default_settings(rows)
        if start != self.start:
            kept = {one.key: self[one] for one in self.named if one.is_setting}
            self.start = start
            self.chosen = replace(self.chosen, settings=replace(start, **kept))
        self._adapt_view(rows)
        self.is_matrix = rows.is_matrix
        if not rows.is_matrix:
            settings = one_score_settings(self.settings, self.settings.view)
            self.chosen = replace(self.chosen, settings=settings)

    def _adapt_view(self, rows: Predictions) -> None:
        try:
            check_view(self.settings.view, rows.n_classes)
        except ValueError as error:
            sentence = f"These data have no such view: {error} Shown is {self.start.view}."
            self.refused = (*self.refused, sentence)
            self.reset(VIEW)

    def choose_example(self, key: str) -> None:
        """Show a built-in example instead of what was shown."""
        self.example, self.upload, self.unseen, self.file_problems = key, None, "unknown", ()
        self.awaited, self.offered, self.unread = Source(), None, None
        self.reset(MODELS)
        # Classes are those of the data that were shown.
        self.reset(VIEW)

    def take(self, upload: Upload) -> None:
        """Show a person's own data, as they are mapped now."""
        self.upload, self.file_problems, self.unread = upload, (), None
        self.awaited, self.offered = Source(), None


def source_of(upload: Upload) -> Source:
    """What a link says of a person's own data."""
    rows = upload.predictions
    fingerprint = upload.fingerprint[:FINGERPRINT_SHOWN]
    return Source(fingerprint, upload.files, None if rows is None else len(rows))


def one_score_settings(settings: Settings, view: str) -> Settings:
    """The same settings without the methods that need a matrix, for a view."""
    known = tuple(key for key in settings.methods if CALIBRATORS[key].create is not None)
    return replace(settings, view=view, methods=known)


def current() -> Session:
    """The session; made from the address at the first run."""
    # Asked for dozens of times a run: one look, not a second one for whether it is there.
    session: Session | None = st.session_state.get(SESSION)
    if session is None:
        give_back()
        session = st.session_state[SESSION] = _begun(st.query_params.to_dict())
    return session


def _begun(named: dict[str, str]) -> Session:
    """A session as an address describes it; with its data if this browser brought them."""
    session = Session.from_link(named)
    place = _place(session.awaited)
    earlier = _open_sessions().get(place) if session.waits else None
    # What it shows may have changed since it was left there.
    if earlier is not None and earlier.upload and _place(source_of(earlier.upload)) == place:
        session.resume(earlier)
    return session


@st.cache_resource
def _open_sessions() -> WeakValueDictionary[tuple[str, str, str], Session]:
    # A reloaded tab is a new session. Streamlit keeps the old one for some minutes, and nothing
    # here keeps it longer.
    return WeakValueDictionary()


def _place(source: Source) -> tuple[str, str, str]:
    """Where the session of some data is found: only by the browser that brought them."""
    return browser(), source.fingerprint, "" if source.fingerprint else source.name


def browser() -> str:
    """A secret of this browser, "" if it has none: Streamlit's token against forged requests.

    A link says which data it is for, and whoever has it could open them; the token is in no link.
    """
    try:
        _, mask, masked, _ = st.context.cookies.get(TOKEN, "").strip("\"'").split("|")
        # Masked anew at every visit.
        pairs = zip(bytes.fromhex(masked), cycle(bytes.fromhex(mask)), strict=False)
        return bytes(one ^ two for one, two in pairs).hex()
    except ValueError:
        return ""


def on_page_enter(session: Session, page: str) -> None:
    """Forget the widgets of the page that was left.

    A widget of the same key on another page is a new one, but finds the old value in the state and
    is drawn with its default instead; without it, it is given the session's value.
    """
    named = st.query_params.to_dict() if page == "Reports" else {}
    session.report_browser.read(named, again=session.page == page)
    if session.page == page:
        return
    session.page = page
    for key in list(st.session_state):
        if key != SESSION:
            del st.session_state[key]


def write_address(session: Session) -> None:
    """Make the address say what is shown, and let a reload of it find these data."""
    if session.upload is not None and browser():
        _open_sessions()[_place(source_of(session.upload))] = session
    named = session.report_browser.address() or session.link()
    if session.report_browser.moved or st.query_params.to_dict() != named:
        st.query_params.from_dict(named)


@st.cache_resource(max_entries=16, show_spinner="Making the example")
def load_example(key: str) -> Mapping[str, Predictions]:
    """The models of one built-in example, shared by all sessions."""
    return EXAMPLES[key].load_models()


@st.cache_resource
def shared_memo() -> Memo:
    """What is made of examples, for all sessions; of a person's own data numbers only."""
    return Memo(most=4096, fewer={_fit: 12})


def map_anew(session: Session, mapping: ColumnMapping) -> None:
    """Show a person's own data under another mapping."""
    if session.upload is not None:
        # Seconds where a thousand columns are checked.
        with st.spinner(READING):
            session.take(session.upload.mapped(mapping))


def models(session: Session) -> Mapping[str, Predictions]:
    """All models of the data; none while a person's own data have errors or are awaited."""
    if session.waits:
        return {}
    return load_example(session.example) if session.upload is None else session.upload.models


def shown_models(session: Session) -> dict[str, Predictions]:
    """The models that stand side by side: those chosen, else the first and the last."""
    known = models(session)
    names = [name for name in known if name in session[MODELS]]
    if not names:
        names = list(dict.fromkeys((*list(known)[:1], *list(known)[-1:])))
    return {name: known[name] for name in names[:MAX_SHOWN]}


def predictions(session: Session) -> Predictions | None:
    """What is shown, of several models the first; None where there is none."""
    return next(iter(shown_models(session).values()), None)


def analysis(session: Session, rows: Predictions, progress: Progress = no_progress) -> LiveAnalysis:
    """The analysis of these rows under the session's settings; only what changed is computed."""
    latest = session.latest
    # A person's own rows are kept by their session alone and go with it.
    kept = session.memo if session.upload else shared_memo()
    work = Unkeyed(_fit, earlier=latest.get(rows.fingerprint), progress=progress)
    found = kept.heavy(work, rows, _fitting(session.settings))
    latest.pop(rows.fingerprint, None)
    latest[rows.fingerprint] = found
    while len(latest) > len(shown_models(session)):
        latest.pop(next(iter(latest)))
    return session.memo(Unkeyed(analyze, earlier=found), rows, session.settings)


@keep(MAX_SHOWN)
def _fit(
    rows: Predictions,
    settings: Settings,
    *,
    earlier: LiveAnalysis | None = None,
    progress: Progress = no_progress,
) -> LiveAnalysis:
    made = analyze(rows, settings, earlier=earlier, progress=progress)
    trim()
    return made


def _fitting(settings: Settings) -> Settings:
    """Bins cost nothing to change, all else does: one result for all binnings."""
    return replace(settings.fitting(), confidence_level=settings.confidence_level)


def one_score(session: Session, rows: Predictions) -> Predictions:
    """The session's view of a matrix, as predictions of one score per row; such as they are."""
    if not rows.is_matrix:
        return rows
    return session.memo(Predictions.one_score, rows, session.settings.view)


def maps(session: Session, rows: Predictions, progress: Progress) -> LiveAnalysis:
    """The analysis of one score, whose methods are maps of that score alone."""
    if not session.is_matrix:
        return analysis(session, rows, progress)
    settings = one_score_settings(session.settings, Settings().view)
    found = session.memo.heavy(Unkeyed(_fit, progress=progress), rows, _fitting(settings))
    return session.memo(Unkeyed(analyze, earlier=found), rows, settings)


def compare(session: Session, method: str, progress: Progress) -> ModelComparison:
    """All models, uncalibrated, clipped and calibrated by one method."""
    settings = replace(session.settings, methods=("uncalibrated",))
    compared = Unkeyed(compare_models, progress=progress)
    return session.memo.heavy(compared, models(session), settings, method=method)


def follow_auto(session: Session, latest: LiveAnalysis) -> bool:
    """Set the number of bins to what the data choose, if asked to; whether that changed it."""
    if not session[AUTO_BINS]:
        return False
    before = session.settings
    session.change(N_BINS, session.memo(_auto_bins, latest.held_out, before.strategy))
    return session.settings != before


def _auto_bins(held_out: CrossFitted, strategy: Strategy) -> int:
    fewest, most = N_BINS.values.bounds
    return max(fewest, increasing_bins(held_out.cells["uncalibrated"], strategy, most))


def key(name: str) -> str:
    """The key of a chart, a table or a control in the body of a page: its own for every model."""
    number = current().drawn
    return f"{name}_{number}" if number else name


def situation(session: Session) -> Situation:
    """What is shown, as far as it decides which choices act."""
    rows = predictions(session)
    return Situation(
        in_a_bin=session[BIN_AT] is not None or bool(session[SCORE_RANGE]),
        of_several=len(models(session)) > 1,
        draws_folds=rows is None or (rows.fold is None and rows.test is None),
        sets_bins=not session[AUTO_BINS],
    )


def name(session: Session) -> str:
    """What the shown data are called."""
    if session.upload is None:
        return EXAMPLES[session.example].title
    return session.upload.name
