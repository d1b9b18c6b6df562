"""Files and pasted text: upload them, and show their problems."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import streamlit as st

from calib.data.aggregate import Aggregate
from calib.data.base import Progress
from calib.loading import MAX_BYTES, Columns, FileFormat, InputError, Problem, Table
from calib.loading.judged_rows import judged_tables
from calib.loading.loader import joined
from calib.loading.logs import combined
from calib.loading.problems import error, refuse
from calib.loading.reading.apart import FileReader, Limits, is_harmless
from calib.text import listed, plain, sentence
from calib.ui.controls.widgets import ask, download, field
from calib.ui.session import state
from calib.ui.session.choices import MODEL, SEGMENTED
from calib.ui.session.judging import Judging, Unread
from calib.ui.session.memo import WithProgress
from calib.ui.session.middleware import THIS_MACHINE
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session, linked_data
from calib.ui.session.turns import FILES, MIN_ROW_BYTES, Cancel, prepare
from calib.ui.session.upload import Upload
from calib.ui.streamlit_private import remove_files

Place = Literal["data", "test"]
T = TypeVar("T")
UNREADABLE = error("unreadable")
TEST_HELP = "Calibrators are fitted on the predictions and measured on these rows."
SAMPLE = "outcome,score\n1,0.83\n0,0.12\n1,0.64\n"
OTHER_FORMATS = """
- **Evaluation logs** of language models: Inspect, lm-evaluation-harness (with the file of results),
  HELM (with `run_spec.json`), OpenAI evals, promptfoo, deepeval, Humanity's Last Exam.
- **Excel and OpenDocument**: the first sheet with numbers; others can be chosen afterwards.
- **JSON**: one object per prediction, or what `DataFrame.to_json` writes.
- **Stata** (`.dta`), **SAS** (`.sas7bdat`, `.xpt`), **ARFF** of Weka.
- **Several models**: one score column per model, or several files of the same rows.
- **Several classes**: one score column per class, or an `.npz` file with `probs` or `logits`, and
  `y`.
- **Counts without rows**: a file of `Aggregate.save`, or the result of the query of `calib sql` as
  CSV or Parquet.
"""
GUESSED_FORMAT = FileFormat()
log = logging.getLogger(__name__)


def uploaders(session: Session) -> None:
    """The drop zone of predictions, and beside it a sample or the drop zone of test rows."""
    left, right = st.columns(2, gap="medium")
    with left:
        uploader(session, "data", "Predictions")
        st.caption(
            "CSV, Excel, JSON, Parquet, Arrow, NumPy, or logs of language models. " + files_stay()
        )
    with right:
        if session.upload is None:
            with st.container(key="sample_rows", gap="xsmall"):
                st.code(SAMPLE.strip(), language=None)
                sample()
        else:
            uploader(session, "test", "Separate test file (optional)")
    with st.container(horizontal=True, key="other_ways"):
        paste(session)
        with st.expander("Other formats"):
            st.markdown(OTHER_FORMATS)


def files_stay() -> str:
    """Where dropped files stay. The address of a tunnel looks like that of this computer."""
    host = urlsplit(st.context.url or "").hostname
    if host and host not in THIS_MACHINE:
        return f"Files stay on the server {host}."
    is_remote = host is None or "SSH_CONNECTION" in os.environ
    return f"Files stay on {'the computer that runs this app' if is_remote else 'this computer'}."


def sample() -> None:
    look: dict[str, Any] = {"type": "tertiary", "mime": "text/csv"}
    download("Sample file", SAMPLE, "sample.csv", "sample", **look)


def awaited(session: Session) -> None:
    source = session.awaited
    file = f"**{plain(source.name)}**" if source.name else "a file that is not here"
    st.markdown(f"## This link is for {file}{source.size}")
    st.markdown("Drop the file here to see it. The settings of the link are kept.")
    with st.container(width=600):
        uploader(session, "data", "The file of the link")
        paste(session)
    problems(session)
    if session.offered is not None:
        _offer(session, session.offered)
    st.caption(
        "A link holds settings and no data. A file stays with the tab that it was dropped in; "
        "after a reload it is found again for a short time, by the same browser only."
    )
    example_instead()


def example_instead() -> None:
    st.button("Show an example instead", key="show_example", on_click=_show_example)


def _offer(session: Session, upload: Upload) -> None:
    data = linked_data(upload)
    name, other = plain(data.name), plain(session.awaited.name) or "the file of the link"
    why = (
        "Its numbers or its columns differ"
        if upload.models
        else "Its columns must be mapped before it can be compared"
    )
    st.warning(f"**{name}**{data.size} is not the data of {other}. {why}.")
    st.button(
        "Open it with the settings of the link",
        key="open_offered",
        type="primary",
        on_click=session.take,
        args=(upload,),
    )


def _show_example() -> None:
    session = state.current()
    session.reset_all()
    session.choose_example(session.example)


def uploader(session: Session, place: Place, label: str, prefix: str = "") -> None:
    """A second uploader of a page has a `prefix` for its keys."""
    if session.opens_judge:
        session.opens_judge = False
        st.switch_page(PAGES["Automate"])
    key = f"{prefix}data_file" if place == "data" else "data_test_file"
    with st.container(key=key):
        dropped = st.file_uploader(
            label,
            # Each read changes the key, because a file that the widget keeps is copied at every
            # rerun.
            key=f"{key}_{session.n_reads}",
            accept_multiple_files=place == "data",
            max_upload_size=MAX_BYTES // 2**20,
            disabled=place == "test" and not _takes_test_rows(session.upload),
            help=None if place == "data" else TEST_HELP,
        )
    if not dropped:
        return
    files = dropped if isinstance(dropped, list) else [dropped]
    with st.spinner("Reading the file" if len(files) == 1 else "Reading the files"):
        receive(session, [(file.name, file.getvalue()) for file in files], place)
    remove_files(files)
    session.n_reads += 1
    if session.page != "Data" and not session.opens_judge and _asks(session):
        st.switch_page(PAGES["Data"])
    st.rerun()


def _takes_test_rows(upload: Upload | None) -> bool:
    return upload is not None and bool(upload.tables) and upload.source is None


def dropped_files(
    session: Session, key: str, label: str, *, several: bool = False
) -> list[tuple[str, bytes]]:
    """A drop zone: the names and bytes of what was dropped."""
    with st.container(key=key):
        dropped = st.file_uploader(
            label,
            key=f"{key}_{session.n_reads}",
            accept_multiple_files=several,
            max_upload_size=MAX_BYTES // 2**20,
        )
    if not dropped:
        return []
    files = dropped if isinstance(dropped, list) else [dropped]
    contents = [(file.name, file.getvalue()) for file in files]
    remove_files(files)
    session.n_reads += 1
    return contents


def table_uploader(session: Session, key: str, label: str) -> Table | Unread | None:
    """A drop zone of one table: what was dropped, or why it cannot be read."""
    return next((read_table(*file) for file in dropped_files(session, key, label)), None)


def read_table(name: str, content: bytes, given: FileFormat = GUESSED_FORMAT) -> Table | Unread:
    """One table of a file, or why it cannot be read."""

    def reads(progress: Progress) -> Table:
        _, tables = _read([(name, content)], given, progress)
        if not tables:
            raise refuse("counts-and-rows")
        return combined(tables)[0]

    table = read_or_problems(reads)
    return Unread(name, content, given, table) if isinstance(table, tuple) else table


def read_or_problems(reads: Callable[[Progress], T]) -> T | tuple[Problem, ...]:
    """What is read from files, or why they cannot be read. A person can cancel it."""
    cancel = Cancel("cancel_reading", _cancel)

    def progress(_share: float, _text: str) -> None:
        cancel.after_a_while()

    try:
        with st.spinner("Reading the file"):
            return reads(progress)
    except InputError as refused:
        return refused.problems
    except Exception:
        log.exception("A file could not be read")
        return (UNREADABLE,)
    finally:
        cancel.withdraw()


def _asks(session: Session) -> bool:
    """Whether a dropped file cannot be shown before the page of the data has an answer."""
    if session.waits:
        return False
    return bool(session.file_problems or (session.upload and not session.upload.models))


def paste(session: Session, prefix: str = "") -> None:
    key = f"{prefix}data_paste"
    with st.expander("Or paste rows"):
        st.text_area(
            "Rows with a header",
            key=key,
            height=140,
            placeholder="outcome,score\n1,0.83\n0,0.12",
        )
        given = (session, key)
        st.button("Use these rows", f"{prefix}use_paste", on_click=_receive_paste, args=given)


def _receive_paste(session: Session, key: str) -> None:
    # Text without a line break would be read as a path on the server, and bytes are not.
    text = st.session_state.get(key, "")
    with st.spinner("Reading the rows"):
        receive(session, [("Pasted rows", text.encode(errors="replace"))], "data")


def receive(
    session: Session,
    files: Sequence[tuple[str, bytes]],
    place: Place,
    written: FileFormat = GUESSED_FORMAT,
    *,
    add: bool = False,
) -> None:
    """If a file cannot be read, the current data stay."""
    session.unread = session.workbook = None
    session.received = tuple(name for name, _ in files)
    cancel = Cancel("cancel_reading", _cancel)

    def progress(_share: float, _text: str) -> None:
        cancel.after_a_while()

    try:
        if place == "data":
            read = WithProgress(_uploaded, files=files, progress=progress)
            # A team that drops the same file reads it once.
            contents = tuple((name, sha256(data).digest()) for name, data in files)
            upload = session.memo(read, contents, written, add=add)
            _take(session, upload, files, written)
        elif session.upload is not None:
            _, tables = _read(files, written, progress)
            if not tables:
                raise refuse("counts-and-rows")
            session.take(session.upload.with_test(combined(tables)[0]))
    except InputError as error:
        session.file_problems = error.problems
        if any(problem.choices for problem in error.problems):
            session.unread = (tuple(files), place, written)
    except Exception:
        log.exception("A file could not be read")
        session.file_problems = (UNREADABLE,)
    finally:
        cancel.withdraw()


def _take(
    session: Session,
    upload: Upload | Judging,
    files: Sequence[tuple[str, bytes]],
    written: FileFormat,
) -> None:
    if isinstance(upload, Judging):
        session.judging, session.opens_judge, session.file_problems = upload, True, ()
        return
    if session.upload is not None:
        session.reset(MODEL)
    session.receive(upload)
    if len(files) == 1 and upload.tables and upload.table.sheets:
        session.workbook = (*files[0], written)


def _uploaded(
    _contents: tuple[tuple[str, bytes], ...],
    written: FileFormat,
    *,
    add: bool,
    files: Sequence[tuple[str, bytes]],
    progress: Progress,
) -> Upload | Judging:
    prepare(sum(len(data) for _, data in files) // MIN_ROW_BYTES)
    counts, tables = _read(files, written, progress)
    if counts and tables:
        raise refuse("counts-and-rows")
    if judged := judged_tables(tables):
        return Judging.of(*judged)
    return Upload.of_counts(counts, add=add) if counts else Upload.of(*joined(combined(tables)))


@st.cache_resource(show_spinner=False)
def file_reader() -> FileReader:
    return FileReader(Limits.from_environment(), "calib.scanning.rows_or_counts")


def _read(
    files: Sequence[tuple[str, bytes]], written: FileFormat, progress: Progress
) -> tuple[list[tuple[str, Aggregate]], list[Table]]:
    """The files of counts with their names, and the others."""
    # Engines take long to import, and only a dropped file needs them.
    from calib.scanning.rows_or_counts import read

    counts, tables = list[tuple[str, Aggregate]](), list[Table]()
    for name, data in files:
        if is_harmless(data, written):
            content = read(data, name, given=written)
        else:
            reading = partial(progress, 0.0, "Reading the file")
            with FILES.turn():
                content = file_reader().read(data, name, written, reading)
        if isinstance(content, Table):
            tables.append(content)
        else:
            counts.append((name, content))
    return counts, tables


def _cancel() -> None:
    # Without a new key the widget would return the same file again.
    state.current().n_reads += 1


def problems(session: Session) -> None:
    for problem in session.file_problems:
        st.error(f"Not read: {problem.sentence} File: {listed(session.received, 3)}.")
        answers = [(choice.label, choice.arguments) for choice in problem.choices]
        answer_buttons(answers, f"read_{problem.code}", _read_anew, session)
    question(session)
    of_upload(session)


def question(session: Session) -> bool:
    """Ask what only a person can know about the data; returns whether that is still open."""
    upload = session.upload
    if upload is None or upload.question is None:
        return False
    asked = upload.question
    elsewhere = session.page != "Data"  # The heading of that page says this.
    if elsewhere:
        st.markdown(f"## One question about {plain(upload.name)} before the result")
    st.markdown(asked.sentence)
    _answers(session, repairs(asked, upload.mapping), "choose")
    if elsewhere:
        label = "Look at the columns and the first rows"
        st.page_link(PAGES["Data"], label=label, icon=":material/table:")
    return True


def _answers(session: Session, answers: Sequence[tuple[str, Columns]], key: str) -> None:
    """Draw a button per answer to a question. None is in colour, because a person must know it."""
    with st.container(horizontal=True, key=f"question_{key}"):
        for number, (label, answer) in enumerate(answers):
            given, text = (session, answer), sentence(label)
            st.button(text, f"{key}_{number}", on_click=state.map_anew, args=given)


def of_upload(session: Session) -> None:
    upload, drawn = session.upload, set[str]()
    if upload is None:
        return
    for problem in upload.problems:
        if problem.severity == "question":
            continue
        key = f"repair_{problem.code}"
        if key in drawn:
            key = f"{key}_{len(drawn)}"
        drawn.add(key)
        if problem.severity == "error" and problem.choices:
            st.markdown(problem.sentence)
            _answers(session, repairs(problem, upload.mapping), key)
            continue
        draw = {"error": st.error, "warning": st.warning, "note": st.info}[problem.severity]
        draw(problem.sentence)
        repair(session, problem, key)


def repair(session: Session, problem: Problem, key: str) -> None:
    """Draw the buttons that repair a problem of the uploaded data, if there are any."""
    assert session.upload is not None
    answers = repairs(problem, session.upload.mapping)
    if problem.repair_label:
        label, mapping = answers.pop(0)
        repair_button(label, key, state.map_anew, session, mapping)
    # Problems beside an open question are less urgent.
    n_coloured = 0 if session.upload.asks else 1
    answer_buttons(answers, key, state.map_anew, session, n_coloured=n_coloured)


def repairs(problem: Problem, mapping: Columns) -> list[tuple[str, Columns]]:
    """The repair and the answers that a person can choose, and how the columns are meant then."""
    answers = [(choice.label, mapping.chosen(**choice.arguments)) for choice in problem.choices]
    if problem.repair is not None and problem.repair_label:
        changed = problem.repair.changed(mapping)
        answers.insert(0, (problem.repair_label, mapping.chosen(**changed)))
    return answers


def answer_buttons(
    answers: Sequence[tuple[str, Any]],
    key: str,
    on_click: Callable[..., None],
    session: Session,
    *more: object,
    n_coloured: int | None = None,
) -> None:
    """Draw a button per answer. `n_coloured` of them are in colour, or all of them."""
    if not answers:
        return
    with st.container(horizontal=True, key=f"repairs_{key}"):
        for number, (label, answer) in enumerate(answers):
            plain_look = n_coloured is not None and number >= n_coloured
            look: Any = {"kind": "secondary"} if plain_look else {}
            repair_button(label, f"{key}_{number}", on_click, session, *more, answer, **look)


def repair_button(
    label: str,
    key: str,
    on_click: Callable[..., None],
    *args: object,
    kind: Literal["primary", "secondary"] = "primary",
) -> None:
    icon = ":material/build:"
    st.button(sentence(label), key=key, on_click=on_click, args=args, type=kind, icon=icon)


def _read_anew(session: Session, arguments: Mapping[str, Any]) -> None:
    if session.unread is not None:
        files, place, written = session.unread
        with st.spinner("Reading the file"):
            if "add" in arguments:
                receive(session, files, place, add=True)
            else:
                receive(session, files, place, replace(written, **arguments))


SHEET_PIXELS = 280


def layout(session: Session) -> None:
    """Choose the sheet of a workbook, and whether its first line, or that of a text, has names."""
    upload = session.upload
    if upload is None or len(upload.tables) != 1 or upload.tests is not None:
        return
    table = upload.table
    with st.container(horizontal=True, key="layout"):
        book = session.workbook
        if book is not None and table.sheets and book[0] == table.file:
            take = partial(_read_sheet, session)
            look = {"label": "Sheet", "options": table.sheets, "width": SHEET_PIXELS}
            ask(st.selectbox, "data_sheet", table.sheets[0], take, **look)
        if table.header is not None:
            ask(
                SEGMENTED,
                "data_header",
                "Yes" if table.header else "No",
                partial(_read_header, session),
                label="The first row is a header",
                options=("Yes", "No"),
            )


def _read_sheet(session: Session, sheet: str) -> None:
    if session.workbook is not None:
        name, data, written = session.workbook
        with st.spinner(state.READING_COLUMNS):
            receive(session, [(name, data)], "data", replace(written, sheet=sheet))


def _read_header(session: Session, answer: str) -> None:
    if session.upload is None:
        return
    try:
        with st.spinner(state.READING_COLUMNS):
            session.take(session.upload.with_header(answer == "Yes"))
    except InputError as error:
        session.file_problems = error.problems


def remove_test(session: Session) -> None:
    if session.upload is not None and session.upload.tests is not None:
        st.button("Remove the test rows", key="remove_test", on_click=_remove_test, args=(session,))


def _remove_test(session: Session) -> None:
    if session.upload is not None:
        with st.spinner(state.READING_COLUMNS):
            session.take(session.upload.with_test(None))


def unseen(session: Session) -> None:
    answers = {"yes": "No, held out", "no": "Yes", "unknown": "Not sure"}
    field(
        session,
        "unseen",
        "Was the model trained on these rows?",
        st.radio,
        options=list(answers),
        format_func=answers.__getitem__,
        horizontal=True,
        help="A model often looks calibrated on its training rows even if it is not on new rows.",
    )
    if session.unseen == "no":
        st.warning(
            "On training rows the results are optimistic, and a calibrator that is fitted to them "
            "is wrong for new rows. Score rows that the model was not trained on, and upload those."
        )
