"""Automate: which answers of a decision model need no person; can a judge replace gold labels?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from calib import text
from calib.analysis.judge import JudgeResult, gold_analysis, judge_rows
from calib.blocks.judge import judges, pass_rates
from calib.data.base import Progress
from calib.data.judged import JudgedRows
from calib.features.automate import desk_words
from calib.features.automate.choices import KIND, MAX_ERROR, NEXT_ROWS, PASS_FROM, POINTS
from calib.features.automate.desk import Desk, desk
from calib.features.automate.questions import Questions
from calib.features.automate.reading import decisions_example, dropped_log, read_back
from calib.features.automate.thresholds import thresholds
from calib.figures import answer, judged
from calib.figures.summary import summary_chart
from calib.loading import FileFormat, Problem, Table
from calib.loading.judged_rows import SCALES, judged_example
from calib.loading.loader import joined
from calib.loading.reading.apart import FileReader, Limits, is_harmless
from calib.reports import Report
from calib.reports.contents.judged import why_no_report
from calib.reports.render.files import to_csv
from calib.text import (
    count,
    plain,
    plural,
    sentence,
)
from calib.ui.controls import report_files, uploaders, widgets
from calib.ui.controls.widgets import ask
from calib.ui.layout import blocks, charts, frame
from calib.ui.session.judging import Judging, Unread
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session
from calib.ui.session.turns import FILES
from calib.ui.session.upload import Upload
from calib.words.measures import undrawn

MAX_DISAGREEMENTS = 500
NEEDED = "Automate needs a judge's score for every row, and a gold label for some."
NO_COLUMN = "–"
READING = f"""
- **Pass rate**: a line is fitted to the labelled rows, label against score. Its mean over the
  scores of all rows corrects the judge's own mean. {judged.RANDOM_SAMPLE}
- **Kappa** is agreement beyond chance. A judge that gives the commoner answer to every row has
  kappa 0, however often it agrees.
- **Labels saved**: how many more labels would be needed without the judge, for an interval as
  short. It depends on the correlation of score and label, and is often small.
- **PPI++** is [prediction-powered inference](https://arxiv.org/abs/2311.01453) as ppi-python has
  it. With few labels its interval is too short.
"""
AS_JUDGED = (
    "{} has scores of a judge and few labels, so the judge is compared with the labels here."
)
ROLES: Mapping[str, str] = {
    "score": "Judge's score",
    "outcome": "Gold label",
    "row_id": "Row id",
    "model": "Model",
    "group": "Cluster",
}


QUESTIONS: Mapping[str, str] = {
    "decisions": "Which answers of a decision model may be used without a person?",
    "judge": "Can a judge's scores replace labels, and which share of the rows passes?",
}
READING_DESK = """
- **Alone at 5%**: answers with at least this probability may be used without a person. Of them, at
  most 5% are wrong, with 95% confidence, for each question and error rate alone. The threshold is
  tested on the labelled records.
- **Labels** must be of a random sample of the records. A threshold holds for the version of the
  model that answered, and for records like these.
- **Calibrated?** is the verdict about P(true) of yes/no, otherwise about the probability of the
  decision. A threshold can be certified for a question that is not calibrated.
"""


NEXT_LABELS = (
    "For each question so many records, drawn at random from ranges of score, so that all labels "
    "together are spread as the answers are. Fill in the column label, and drop the file together "
    "with the log: labels are matched by id. The answers are left out, so that they do not sway "
    "the person who labels."
)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class DroppedLog:
    """A log that a person dropped, and why the last file could not be read."""

    log: Questions | None = None
    name: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def shown(self) -> Questions:
        """The log, or the example. A log without any label has the length 0."""
        return decisions_example() if self.log is None else self.log


def page() -> None:
    session = frame.begin("Automate")
    kind = shown_kind(session)
    with st.container(key="automate", horizontal=True, vertical_alignment="center"):
        is_judge = kind == "judge"
        data = judged_data(session) if is_judge else log_data(dropped_log_of(session))
        st.caption(f"{QUESTIONS[kind]} Shown here: {data}.")
        widgets.control(session, KIND, value=kind, label_visibility="collapsed")
    (judge_page if kind == "judge" else desk_page)(session)


def shown_kind(session: Session) -> str:
    """What was chosen; otherwise that of the tables that were dropped, or of the link."""
    judging = session.judging
    if judging.elsewhere and session.kept.get("judging") is not judging:
        session.kept["judging"] = judging
        session.reset(KIND)
    if KIND in session.explicit:
        return session[KIND]
    is_judge = judging.judged is not None or session.explicit & {PASS_FROM, POINTS}
    return "judge" if is_judge else "decisions"


def judged_data(session: Session) -> str:
    judging = session.judging
    tables = [table for table in (judging.judged, judging.gold) if table is not None]
    if judging.judged is None:
        return "a simulated example"
    return " and ".join(f"**{plain(table.file or table.name)}**" for table in tables)


def log_data(dropped: DroppedLog) -> str:
    log = dropped.shown
    name = "a simulated example" if dropped.log is None else f"**{plain(dropped.name)}**"
    models = dict.fromkeys(one.version or one.model for one in log.details.values())
    of_models = "".join(f", {plain(model)}" for model in models if model)
    return f"{name}, {plural(log.n_records, 'record')}{of_models}"


def dropped_log_of(session: Session) -> DroppedLog:
    made: DroppedLog = session.kept.get("decisions", DroppedLog())
    return made


def desk_page(session: Session) -> None:
    """What may be decided without a person, per question of a log."""
    dropped, error = dropped_log_of(session), session[MAX_ERROR]
    log = dropped.shown
    with st.spinner("Testing the questions"):
        made = session.memo.heavy(desk_of, dropped)
    with st.container(key="answer_desk"):
        st.html(desk_words.section(made, error, is_example=dropped.log is None))
    with widgets.toolbar("desk"):
        widgets.control(session, MAX_ERROR)
        widgets.download(
            "Download thresholds.json",
            partial(thresholds, made, error),
            "thresholds.json",
            "desk_thresholds",
            disabled=not made.certified(error),
        )
        if dropped.log is not None:
            forget = partial(session.kept.pop, "decisions", None)
            st.button("Show the example", key="desk_example", on_click=forget)
    if dropped.log is None:
        drop_log(session, dropped)
    blocks.show(desk_words.questions_table(made))
    if made.joint is not None:
        blocks.show(desk_words.together(made.joint, error))
    if made.versions:
        st.markdown("### What changed with the version")
        blocks.show(desk_words.versions_table(made))
    log_notes(log)
    if len(log.next_labels(1)):
        st.markdown("### Label more answers")
        with widgets.toolbar("desk_labels"):
            n = widgets.control(session, NEXT_ROWS)
            widgets.download(
                "Download them", partial(csv_of_next_labels, log, n), "label-next.csv", "desk_next"
            )
        st.caption(NEXT_LABELS)
    if dropped.log is not None:
        drop_log(session, dropped)
    frame.reading(READING_DESK, "the table")


def csv_of_next_labels(log: Questions, n: int) -> bytes:
    return to_csv(log.next_labels(n))


def desk_of(dropped: DroppedLog) -> Desk:
    return desk(dropped.shown)


def log_notes(log: Questions) -> None:
    """What was assumed or left out, once for all questions that it is about."""
    about: dict[str, list[str]] = {note.sentence: [] for note in log.notes}
    for name, one in log.details.items():
        for note in one.notes:
            about.setdefault(note.sentence, []).append(name)
    for said, names in about.items():
        of = f"{plain(text.joined(names[:5], len(names)))}: " if names else ""
        st.caption(f":material/info: {of}{sentence(said)}")


def drop_log(session: Session, dropped: DroppedLog) -> None:
    """The drop zone of a log, and of labels in a second file."""
    label = "Log of a decision model, with labels in it or in a second file"
    files = uploaders.dropped_files(session, "data_file_log", label, several=True)
    if files:
        made = uploaders.read_or_problems(partial(read_log, files))
        if isinstance(made, tuple):
            session.kept["decisions"] = replace(dropped, problems=made)
        else:
            session.kept["decisions"] = DroppedLog(made, files[0][0])
        st.rerun()
    for problem in dropped.problems:
        st.error(f"Not read: {problem.sentence}")


def read_log(files: Sequence[tuple[str, bytes]], progress: Progress) -> Questions:
    """A log of one or several files, in a process of its own unless they are short texts."""
    (name, data), *others = files
    contents = [content for _, content in others]
    if all(is_harmless(content, FileFormat()) for _, content in files):
        return dropped_log(data, name, others=contents)
    limits, module = Limits.from_environment(), dropped_log.__module__
    watch = partial(progress, 0.0, "Reading the file")
    with FILES.turn(), FileReader(limits, module, read_back) as reader:
        log: Questions = reader.read(data, name, watch=watch, others=contents)
    return log


def judge_page(session: Session) -> None:
    """Can a judge's scores replace gold labels?"""
    results = analysed(session)
    shown = chosen_result(session, results)
    if shown is None:
        st.html(f'<section class="answer"><div><h2>{NEEDED}</h2></div></section>')
    else:
        with st.container(key="answer_judge"):
            st.html(judged.section(shown, is_example=session.judging.judged is None))
    data_line(session)
    as_predictions(session)
    problems(session)
    if shown is None:
        ghost(session)
        return
    for note in shown.notes:
        st.caption(f":material/info: {sentence(note)}")
    evidence(session, shown, results)
    disagreements(shown)
    frame.reading(READING, "the numbers of this page")


def ghost(session: Session) -> None:
    """What the page would show, in pale colours."""
    example = session.memo(judge_rows, judged_example(), threshold=PASS_FROM.default)
    st.caption("What this page shows, with the example:")
    with st.container(key="ghost"):
        st.html(judged.section(example, is_example=True))
        reliability(session, example.rows)


def judge_report(rows: JudgedRows, threshold: float) -> Report:
    return Report.from_judge(judge_rows(rows, threshold=threshold))


def analysed(session: Session) -> dict[str, JudgeResult]:
    """The results by judge or model; those without enough labels are left out, and said."""
    judging = session.judging
    parts = judging.parts.rows if judging.judged is not None else {"example": judged_example()}
    results: dict[str, JudgeResult] = {}
    failures = dict(judging.parts.failures)
    for name, rows in parts.items():
        try:
            results[name] = session.memo(judge_rows, rows, threshold=session[PASS_FROM])
        except ValueError as error:
            failures[name] = str(error)
    for name, reason in failures.items():
        st.warning(f"**{plain(name)}**: {sentence(reason)}")
    return results


def chosen_result(session: Session, results: Mapping[str, JudgeResult]) -> JudgeResult | None:
    name = session.judging.shown
    return results.get(name) or next(iter(results.values()), None)


def data_line(session: Session) -> None:
    """The drop zones of both tables, and what their columns mean."""
    judging = session.judging
    with st.container(key="judge_tables"):
        left, right = st.columns(2, gap="medium")
        with left:
            receive(
                session, "data_file_judged", "Judged rows: an id and the judge's score", gold=False
            )
        with right:
            receive(session, "data_file_gold", "Gold labels: the id and the label", gold=True)
    if judging.judged is None:
        return
    with widgets.toolbar("judge"):
        for role, label in ROLES.items():
            column_control(session, role, label, judging.judged)
        meaning(session)
        st.button("Show the example", key="judge_example", on_click=show_example, args=(session,))


def as_predictions(session: Session) -> None:
    """Say why tables that were dropped on another page are here, and offer to read them there."""
    judging = session.judging
    if not judging.elsewhere or judging.judged is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(AS_JUDGED.format(plain(judging.judged.name)), width="content")
        if st.button("Read the labelled rows as predictions", key="as_predictions"):
            tables = [judging.judged, *([] if judging.gold is None else [judging.gold])]
            session.judging = Judging()
            session.take(Upload.of(*joined(tables)))
            st.switch_page(PAGES["Data"])


def receive(session: Session, key: str, label: str, *, gold: bool) -> None:
    dropped = uploaders.table_uploader(session, key, label)
    if dropped is not None:
        take(session, gold, dropped)
    if isinstance(dropped, Table):
        st.rerun()


def take(session: Session, gold: bool, dropped: Table | Unread) -> None:
    """Use a table. The current ones stay if the file cannot be read."""
    judging = session.judging
    if isinstance(dropped, Table):
        session.judging = judging.with_table(dropped, gold=gold)
    else:
        # The content is only needed to read it again.
        if not any(problem.choices for problem in dropped.problems):
            dropped = replace(dropped, content=b"")
        session.judging = replace(judging, unread={**judging.unread, gold: dropped})


def problems(session: Session) -> None:
    """What must be repaired, with a button for each possible answer."""
    judging = session.judging
    for gold, unread in judging.unread.items():
        for problem in unread.problems:
            st.error(f"Not read: {problem.sentence}")
            answers = [(choice.label, choice.arguments) for choice in problem.choices]
            key = f"judge_read_{gold}_{problem.code}"
            uploaders.answer_buttons(answers, key, read_anew, session, gold)
    for problem in judging.problems:
        st.error(problem.sentence)
        answers = [(choice.label, choice.arguments) for choice in problem.choices]
        uploaders.answer_buttons(answers, f"judge_{problem.code}", apply_answer, session)


def read_anew(session: Session, gold: bool, arguments: Mapping[str, Any]) -> None:
    unread = session.judging.unread.get(gold)
    if unread is not None:
        given = replace(unread.given, **arguments)
        take(session, gold, uploaders.read_table(unread.name, unread.content, given))


def apply_answer(session: Session, arguments: Mapping[str, Any]) -> None:
    session.judging = session.judging.having(**arguments)


def show_example(session: Session) -> None:
    session.judging = Judging()


def column_control(session: Session, role: str, label: str, rows: Table) -> None:
    judging = session.judging
    if role == "score":
        judges_control(session, label, rows)
        return
    table = judging.gold if role == "outcome" and judging.gold is not None else rows
    value = getattr(judging.columns, role)

    def change(column: Any) -> None:
        session.judging = session.judging.having(**{role: None if column == NO_COLUMN else column})

    automatic = role in ("outcome", "row_id")
    ask(
        st.selectbox,
        f"judge_{role}",
        value or NO_COLUMN,
        change,
        label=label,
        options=[NO_COLUMN, *table.columns],
        format_func=lambda name: "Automatic" if automatic and name == NO_COLUMN else name,
    )


def meaning(session: Session) -> None:
    """What scores and labels mean, if they are ratings or no usual words."""
    columns = session.judging.columns
    offered = SCALES if columns.scale in SCALES else (columns.scale, *SCALES)
    widgets.assign_again("judge_scale", "judge_positive", PASS_FROM.key)
    with st.popover("More", key="judge_more"):
        ask(
            st.selectbox,
            "judge_scale",
            columns.scale,
            lambda scale: apply_answer(session, {"scale": scale}),
            label="Lowest and highest possible score",
            options=offered,
            format_func=lambda ends: f"{ends[0]:g} to {ends[1]:g}",
        )
        ask(
            st.text_input,
            "judge_positive",
            columns.positive or "",
            lambda label: apply_answer(session, {"positive": label.strip() or None}),
            label="Gold label that passes",
            placeholder="Automatic",
        )
        widgets.control(session, PASS_FROM)


def judges_control(session: Session, label: str, rows: Table) -> None:
    """Several score columns are several judges."""

    def change(columns: list[str]) -> None:
        session.judging = session.judging.having(score=tuple(columns) or None)

    ask(
        st.multiselect,
        "judge_score",
        list(session.judging.columns.score_columns),
        change,
        label=label,
        options=rows.columns,
        placeholder="Automatic",
    )


def evidence(session: Session, shown: JudgeResult, results: Mapping[str, JudgeResult]) -> None:
    with st.container(key="evidence_judge"):
        left, right = st.columns([5, 7], gap="large")
    with left:
        reliability(session, shown.rows)
    with right:
        if len(results) > 1:
            side_by_side(session, shown, results)
        blocks.show_all(pass_rates(shown))
        next_labels(session, shown)
        report(session, shown)


def reliability(session: Session, rows: JudgedRows) -> None:
    """The judge's scores on the labelled rows, before and after the recommended calibrator."""
    try:
        with st.spinner("Analysing the labelled rows"):
            analysis = session.memo.heavy(gold_analysis, rows)
    except ValueError as error:
        st.info(f"No reliability diagram: {sentence(str(error))}")
        return
    st.markdown("### The judge's scores on the labelled rows")
    if reason := undrawn(analysis.uncalibrated.reliability):
        st.info(reason)
    else:
        charts.drawing(answer.summaries(analysis), "judge_summary", summary_chart(analysis))
    st.caption(plain(f"{analysis.verdict.sentence} {analysis.recommendation.sentence}"))


def side_by_side(session: Session, shown: JudgeResult, results: Mapping[str, JudgeResult]) -> None:
    """All judges or models, and which of them the page shows."""
    names = list(results)
    st.markdown("### Judges and models")
    ask(
        st.selectbox,
        "judge_shown",
        next(name for name, result in results.items() if result is shown),
        partial(change, session, "shown"),
        label="Shown on this page",
        options=names,
    )
    blocks.show(judges(results, shown))


def disagreements(result: JudgeResult) -> None:
    listed = result.disagreements
    st.markdown(f"### {plural(len(listed), 'disagreement')}")
    if not len(listed):
        st.caption("The judge's answer is the gold label on every labelled row.")
        return
    st.dataframe(
        listed.head(MAX_DISAGREEMENTS),
        hide_index=True,
        key="judge_disagreements",
        column_config={"score": st.column_config.NumberColumn("score", format="%.2f")},
        alt="Labelled rows on which judge and label differ, the most confident first.",
    )
    first = f", the first {MAX_DISAGREEMENTS}" if len(listed) > MAX_DISAGREEMENTS else ""
    st.caption(f"Labelled rows on which judge and label differ{first}, the most confident first.")


def next_labels(session: Session, result: JudgeResult) -> None:
    st.markdown("### Label more rows")
    with widgets.toolbar("judge_labels"):
        n = widgets.control(session, NEXT_ROWS)
        content = partial(csv_of_next_rows, result, n)
        widgets.download("Download them", content, "label-next.csv", "judge_next")
        points = widgets.control(session, POINTS)
        st.markdown(width_sentence(result, points))
    st.caption(
        "Drawn at random from ranges of score, so that all labels together are spread as the rows "
        "are. The judge's score is left out, so that it does not sway the person who labels."
    )


def report(session: Session, result: JudgeResult) -> None:
    """The result as files, for a team."""
    st.markdown("### Report")
    if reason := why_no_report(result):
        st.caption(plain(reason))
        return
    make = partial(session.memo.heavy, judge_report, result.rows, result.threshold)
    report_files.downloads(make, result.name)
    st.caption(
        "With the numbers of this page and the calibration of the judge's scores. A report has no "
        "rows, so it counts disagreements and rows to label next by range of score."
    )


def change(session: Session, name: str, value: Any) -> None:
    session.judging = replace(session.judging, **{name: value})


def csv_of_next_rows(result: JudgeResult, n: int) -> bytes:
    return to_csv(result.next_rows(n))


def width_sentence(result: JudgeResult, points: int) -> str:
    needed = result.labels_for(points / 100.0)
    if needed is None:
        return f"Labels of all rows are not enough for {points} points: judge more rows."
    if needed <= result.n_labels:
        return f"**{plural(needed, 'label')}** are enough for {points} points."
    more = count(needed - result.n_labels)
    return f"**{plural(needed, 'label')}** in total for {points} points, {more} more than now."
