"""The session: what one person loaded and chose, and every result that is kept.

One object of ours holds it, since widgets forget their values when another page is opened.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from secrets import token_bytes
from typing import Any, Literal, TypeVar
from weakref import WeakValueDictionary

from calib.analysis import LiveAnalysis
from calib.calibrators import CALIBRATORS
from calib.crossfit.settings import Settings, default_settings
from calib.data.base import Data
from calib.loading import FileFormat, Problem
from calib.loading.examples import EXAMPLES
from calib.reports.contents.structure import Declared
from calib.ui.session.choice import Choice
from calib.ui.session.choices import CHOICES, MODEL, VIEW, Chosen
from calib.ui.session.judging import Judging
from calib.ui.session.links import FINGERPRINT_SHOWN, Link, LinkedData, decode, encode
from calib.ui.session.memo import Memo
from calib.ui.session.named_sources import names_of
from calib.ui.session.serving import of_server
from calib.ui.session.team_reports import TeamReports
from calib.ui.session.upload import Upload
from calib.ui.streamlit_private import SESSION_KEY

T = TypeVar("T")
SESSION = SESSION_KEY
# After a reload the new session takes these fields from the old one.
RESUMED_FIELDS = ("upload", "recent", "title", "author", "note", "memo", "judging", "kept")
FIRST_EXAMPLE = next(iter(EXAMPLES))
# Recent files stay in memory, so only a few of moderate size are kept.
MAX_RECENT_FILES = 4
MAX_RECENT_ROWS = 1_000_000


@dataclass(slots=True, weakref_slot=True)
class Session:
    # ``session[choice]`` is the value of one choice.
    chosen: Chosen = field(default_factory=Chosen)
    # The example is shown while there is no upload.
    example: str = FIRST_EXAMPLE
    upload: Upload | None = None  # A person's own data.
    recent: tuple[Upload, ...] = ()  # Files of this session, the latest first.
    received: tuple[str, ...] = ()  # The names of the last files, also if they could not be read.
    file_problems: tuple[Problem, ...] = ()  # The reasons why the last file could not be read.
    # Names and bytes of files that can be read in two ways, and their place, until a person
    # decides.
    unread: tuple[tuple[tuple[str, bytes], ...], Literal["data", "test"], FileFormat] | None = None
    # The bytes of a workbook with several sheets, so that another one can be read.
    workbook: tuple[str, bytes, FileFormat] | None = None
    refused: tuple[str, ...] = ()  # Sentences about parts of the link that were ignored.
    # The data of a person for which the link was made, until they are opened.
    awaited: LinkedData = field(default_factory=LinkedData)
    offered: Upload | None = None  # Data that were dropped instead of those.
    # Each read file changes the uploaders' keys, because a kept file is copied at every rerun.
    n_reads: int = 0
    methods_filter: str = ""  # The words in the search field of the Learn page.
    explains: bool = False  # Whether "How to read it" is open.
    # The next three are those of the next report.
    title: str = ""
    author: str = ""
    note: str = ""
    start: Settings = field(default_factory=Settings)  # The default settings of the shown data.
    # Choices of a person or a link. Their settings stay when other data are shown.
    explicit: set[Choice[Any]] = field(default_factory=set)
    is_matrix: bool = False
    team_reports: TeamReports = field(default_factory=TeamReports)
    page: str = ""  # The title of the page that is shown.
    answered: Chosen | None = None  # The choices for which the whole page was drawn last.
    painted: bool = False  # Whether the browser drew the following choices before it sent them.
    memo: Memo = field(default_factory=Memo)  # Results for the shown data.
    # The data and the choices of a cancelled computation, which is not begun again.
    cancelled: tuple[object, ...] | None = None
    judging: Judging = field(
        default_factory=Judging
    )  # The tables and choices of the page Automate.
    kept: dict[str, Any] = field(default_factory=dict)  # Features keep data here, by their keys.
    opens_judge: bool = False  # Whether dropped tables are a judge's, which its page shows.
    # The last result of each model, by fingerprint. The next analysis reuses what did not change.
    # Only memos keep a result, so that it is freed when memory is short.
    latest: WeakValueDictionary[str, LiveAnalysis] = field(default_factory=WeakValueDictionary)
    seed: bytes = field(default_factory=token_bytes)  # The secrets of the uploads are made of it.

    @classmethod
    def from_link(cls, address: dict[str, str]) -> Session:
        link, refused = decode(address)
        return cls(
            chosen=link.chosen,
            explicit=set(link.explicit),
            example=link.example or FIRST_EXAMPLE,
            refused=refused,
            awaited=link.source,
        )

    def link(self) -> dict[str, str]:
        """The address that restores this session, except for a person's own data."""
        if self.upload is None:
            # If the server has data of its own, an address without an example opens them.
            first = self.example == FIRST_EXAMPLE and of_server() is None
            example = None if first else self.example
            return encode(Link(self.chosen, example, self.awaited, self.start))
        return encode(Link(self.chosen, source=self.linked_upload(self.upload), start=self.start))

    def link_with(self, choice: Choice[T], value: T) -> dict[str, str]:
        """The address of this session with another value of a choice."""
        changed = replace(self, explicit=set(self.explicit))
        changed.change(choice, value)
        return changed.link()

    @property
    def own_data(self) -> LinkedData:
        """The upload or the source that is shown; empty for an example."""
        return LinkedData() if self.upload is None else linked_data(self.upload)

    @property
    def secret(self) -> str:
        """What proves that a browser without a sign-in has seen this upload in this session."""
        data = "\n".join(self.own_data.key)
        return blake2b(data.encode(), key=self.seed, digest_size=16).hexdigest()

    def linked_upload(self, upload: Upload) -> LinkedData:
        """The part of a link about uploaded data, or a table of a source."""
        source, table = names_of(upload.source)
        return replace(linked_data(upload), source=source, table=table)

    @property
    def unseen(self) -> Declared:
        """Whether a person declared that the model was not trained on the shown rows."""
        return "unknown" if self.upload is None else self.upload.unseen

    @unseen.setter
    def unseen(self, answer: Declared) -> None:
        shown = self.upload
        if shown is not None:
            self.upload = replace(shown, unseen=answer)
            # The file keeps its answer while another one is shown.
            recent = (self.upload if one is shown else one for one in self.recent)
            self.recent = tuple(recent)

    @property
    def waits(self) -> bool:
        """Whether the link is for data that are not here. No other data are shown instead."""
        return self.upload is None and bool(self.awaited)

    @property
    def asked(self) -> tuple[object, ...]:
        return self.page, self.example, self.upload, self.chosen

    def receive(self, upload: Upload) -> None:
        """Show dropped data. If the link is for other data, ask first."""
        awaited, fingerprint = self.awaited.fingerprint, upload.fingerprint[:FINGERPRINT_SHOWN]
        if self.waits and awaited and fingerprint != awaited:
            self.offered, self.file_problems, self.unread = upload, (), None
        else:
            self.take(upload)

    def resume(self, earlier: Session) -> None:
        """Continue with the data, texts and results of an earlier session of this browser."""
        for name in RESUMED_FIELDS:
            setattr(self, name, getattr(earlier, name))
        self.awaited = LinkedData()

    def free_results(self) -> None:
        """Forget what can be computed again from the data."""
        self.memo.held.clear()
        self.latest.clear()

    def free_data(self) -> None:
        """Forget the tables of a person who has left."""
        self.free_results()
        self.upload, self.judging, self.kept = None, Judging(), {}

    @property
    def settings(self) -> Settings:
        return self.chosen.settings

    def __getitem__(self, choice: Choice[T]) -> T:
        return self.chosen[choice]

    def change(self, choice: Choice[T], value: T) -> None:
        self.chosen = self.chosen.having(choice, value)
        self.explicit.add(choice)
        self.reset(*(CHOICES[key] for key in choice.forgets))

    def reset(self, *choices: Choice[Any]) -> None:
        for choice in choices:
            start = getattr(self.start, choice.key) if choice.is_setting else choice.default
            self.chosen = self.chosen.having(choice, start)
            self.explicit.discard(choice)

    def reset_all(self) -> None:
        self.chosen = Chosen(self.start)
        self.explicit.clear()

    def follow(self, link: Link) -> None:
        """Show the data of a link with its settings, as if the link had been opened."""
        if link.example is not None:
            self.choose_example(link.example)
        elif link.source:
            self.choose_example(self.example)
            self.awaited = link.source
        self.chosen, self.start = link.chosen, Settings()
        self.explicit = set(link.chosen.changed(self.start)) | link.explicit

    def adapt_to_data(self, rows: Data) -> None:
        """Use the default settings of these rows, except for choices that fit them."""
        start = default_settings(rows)
        if start != self.start:
            kept = {choice.key: self[choice] for choice in self.explicit if choice.is_setting}
            self.start = start
            self.chosen = replace(self.chosen, settings=replace(start, **kept))
        self._adapt_view(rows)
        self.is_matrix = rows.is_matrix
        if not rows.is_matrix:
            settings = one_score_settings(self.settings, self.settings.view)
            self.chosen = replace(self.chosen, settings=settings)

    def _adapt_view(self, rows: Data) -> None:
        try:
            rows.check_view(self.settings.view)
        except ValueError as error:
            sentence = (
                f"These data do not have this view: {error} The view {self.start.view} is shown "
                "instead."
            )
            self.refused = (*self.refused, sentence)
            self.reset(VIEW)

    def choose_example(self, key: str) -> None:
        self.example, self.upload, self.file_problems = key, None, ()
        self.awaited, self.offered, self.unread = LinkedData(), None, None
        self.reset(MODEL)
        # The classes of the view are those of the data that were shown.
        self.reset(VIEW)

    def take(self, upload: Upload) -> None:
        if upload.counted:
            # Rows and their counts have the same fingerprint but different analyses.
            self.latest.clear()
        # A link can name a model of the data that it opens or waits for.
        if self.page and not self.waits and self[MODEL] not in upload.models:
            self.reset(MODEL)
        self.upload, self.file_problems, self.unread = upload, (), None
        self.awaited, self.offered = LinkedData(), None
        # The same file with another mapping is one file.
        others = (other for other in self.recent if not other.is_of_files_of(upload))
        self.recent = recent_files((upload, *others))


def recent_files(uploads: tuple[Upload, ...]) -> tuple[Upload, ...]:
    """The latest of the files whose rows fit into memory together. The shown one always stays."""
    kept: list[Upload] = []
    n_rows = 0
    for upload in uploads[:MAX_RECENT_FILES]:
        rows = upload.predictions
        n_rows += 0 if rows is None else rows.n_rows
        if not kept or n_rows <= MAX_RECENT_ROWS:
            kept.append(upload)
    return tuple(kept)


def linked_data(upload: Upload) -> LinkedData:
    rows = upload.predictions
    fingerprint = upload.fingerprint[:FINGERPRINT_SHOWN]
    return LinkedData(fingerprint, upload.files, None if rows is None else rows.n_rows)


def one_score_settings(settings: Settings, view: str) -> Settings:
    """The settings for a view, without the methods that need a matrix."""
    methods = tuple(key for key in settings.methods if CALIBRATORS[key].create is not None)
    return replace(settings, view=view, methods=methods)
