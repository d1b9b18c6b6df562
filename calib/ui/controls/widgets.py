"""Controls. A widget shows the session's value and writes back what it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis import Analysis
from calib.analysis.summary import shown_methods as shown_at_first
from calib.calibrators import CALIBRATORS, score_methods
from calib.data.base import Data
from calib.data.views import check_view
from calib.figures.axes import AxisKind
from calib.loading.examples import EXAMPLES
from calib.text import plain
from calib.ui.layout.words import named_folds
from calib.ui.session import choices, state
from calib.ui.session.choice import Choice
from calib.ui.session.session import Session
from calib.words.overview import why_shown as why

T = TypeVar("T")
NOTHING = object()  # A widget may have any value, also None.
FOLDS_FROM_COLUMN = (
    "Methods are cross-fitted in {}: {} folds. Each fold is scored by calibrators fitted on the "
    "others. The number of folds is given by the data. Change the **seed** to see how much results "
    "vary by chance."
)
SPLIT = (
    "These data have calibration and test rows, so there are no folds. Change the **seed** to see "
    "how much results vary by chance."
)
COPY_SCRIPT, COPY_STYLE = (
    Path(__file__).with_name(f"copy_link.{kind}").read_text(encoding="utf-8")
    for kind in ("js", "css")
)
MENU_PIXELS = 360
VIEW_KINDS = {"top": "Top-r", "within": "Within top-r", "class": "Class"}
VIEW_CALLED = {"top": "top", "within": "within top", "class": "class"}
# "Within top-1" would be the same as top-1. Until a class is chosen, the first one is shown.
FIRST_VIEW = {"top": 1, "within": 2, "class": 0}


def control(
    session: Session,
    choice: Choice[T],
    options: Iterable[Any] | None = None,
    *,
    value: T | None = None,
    key: str = "",
    **more: Any,
) -> T:
    """Draw the widget of a choice; returns its value.

    `options` are what the data allow; None where the choice itself says it. `value` is shown
    instead of the session's, where the data decide what an unset one means. A second widget of a
    choice has another `key`. All else goes to the widget.
    """
    offered = list(choice.values.options if options is None else options)
    if value is None:
        value = session[choice]
        value = value if options is None else choice.among(value, offered)
    key = key or choice.key
    if offered or options is not None:
        more = {"options": offered, "format_func": choice.values.name} | more
    elif choice.values.bounds:
        low, high = choice.values.bounds
        more = {"min_value": low, "max_value": high} | more
    more = {"help": choice.help, "label": choice.label} | more

    def change(answer: Any) -> None:
        session.change(choice, choice.take(answer))

    ask(choice.widget, key, choice.shown(value), change, **more)
    return value


def field(owner: Any, name: str, label: str, widget: Callable[..., Any], **more: Any) -> None:
    """Draw a widget for a value that is in no link: an attribute of the session or of its part."""
    ask(widget, name, getattr(owner, name), partial(setattr, owner, name), label=label, **more)


def ask(
    widget: Callable[..., Any], key: str, value: Any, take: Callable[[Any], None], **more: Any
) -> None:
    """Draw a widget that shows a value of the session, and give its answer to `take`."""
    # An assignment would replace a text that is being typed, so it is assigned only if it differs.
    if st.session_state.get(key, NOTHING) != value:
        st.session_state[key] = value
    widget(key=key, on_change=lambda: take_answer(key, take), **more)


def assign_again(*keys: str) -> None:
    """Let `ask` assign the values of widgets of a menu in this run.

    A browser draws them when the menu is opened. It would show the first options if the values had
    been assigned only in an earlier run.
    """
    for key in keys:
        st.session_state.pop(key, None)


def take_answer(key: str, take: Callable[[Any], object]) -> None:
    """Give the answer of a widget to `take`.

    A late message of a browser can be for a page that was left. Its widget has no value any more,
    or loses it to the run before at this moment, and its answer is ignored.
    """
    if (answer := st.session_state.get(key, NOTHING)) is not NOTHING:
        take(answer)


def copy_link(text: str, key: str) -> None:
    """A button that copies a text, or the address of the page if there is none."""
    copy = st.components.v2.component(
        "calib_copy_link",
        html='<button type="button" aria-live="polite">Copy link</button>',
        css=COPY_STYLE,
        js=COPY_SCRIPT,
    )
    copy(key=key, data={"text": text})


def download(label: str, content: Any, file_name: str, key: str, **more: Any) -> None:
    """A button for a file, which may be a function that makes it when it is asked for."""
    look = {"icon": ":material/download:", "on_click": "ignore"} | more
    st.download_button(label, content, file_name=file_name, key=key, **look)


def bins(session: Session) -> None:
    control(session, choices.STRATEGY)
    control(session, choices.N_BINS, disabled=session[choices.AUTO_BINS])


def axis(session: Session, automatic: AxisKind = "linear") -> None:
    """The axes of a diagram: those that a person or a link chose, otherwise the automatic ones."""
    control(session, choices.AXIS, value=session[choices.AXIS] or automatic)


def methods(session: Session) -> None:
    keys = list(CALIBRATORS if session.is_matrix else score_methods())
    options = [key for key in keys if key != "uncalibrated"]
    control(session, choices.METHODS, options)


def tabs(session: Session, choice: Choice[str]) -> DeltaGenerator:
    """Draw the tabs of a choice; returns the place below the chosen one."""
    names = {key: choice.values.name(key) for key in choice.values.options}
    places = list[DeltaGenerator]()

    def change(label: str) -> None:
        session.change(choice, next(key for key, name in names.items() if name == label))

    def draw(**more: Any) -> None:
        places.extend(st.tabs(list(names.values()), **more))

    ask(draw, choice.key, names[session[choice]], change)
    return places[list(names).index(session[choice])]


def shown_methods(session: Session, analysis: Analysis) -> tuple[str, ...]:
    value = methods_shown(session, analysis)
    return control(session, choices.SHOWN, list(analysis.methods), value=value)


def methods_shown(session: Session, analysis: Analysis) -> tuple[str, ...]:
    """The methods to draw, uncalibrated and recommended at first."""
    methods = choices.SHOWN.among(session[choices.SHOWN], analysis.methods)
    return methods or shown_at_first(analysis)


def model(session: Session, **look: Any) -> None:
    names = state.models(session)
    control(session, choices.MODEL, names, value=state.model_name(session), **look)


def after(session: Session, analysis: Analysis) -> str:
    """The calibrator that is compared with the uncalibrated scores, or "" if there is none."""
    chosen = session[choices.AFTER]
    if chosen in analysis.methods and chosen != "uncalibrated":
        return chosen
    return next(iter(shown_at_first(analysis)[1:]), "")


def after_control(session: Session, analysis: Analysis) -> tuple[str, ...]:
    """Choose that calibrator; returns the methods to show, the uncalibrated scores first."""
    chosen = after(session, analysis)
    if not chosen:
        return ("uncalibrated",)
    options = [key for key in analysis.methods if key != "uncalibrated"]
    control(session, choices.AFTER, options, value=chosen)
    return ("uncalibrated", chosen)


def why_shown(analysis: Analysis, shown: tuple[str, ...]) -> None:
    """Say why the page shows this calibrator, if it is not the recommended one."""
    if reason := why(analysis, shown[-1]):
        st.caption(f":material/info: {plain(reason)}")


def columns(session: Session) -> tuple[str, ...]:
    """The menu of the columns of a metric table; returns those that are shown."""
    hidden = () if session.is_matrix else choices.MATRIX_COLUMNS
    options = [key for key in choices.COLUMN_LABELS if key not in hidden]
    chosen = choices.COLUMNS.among(session[choices.COLUMNS], options)
    first = [
        f"ece_{session.settings.strategy}" if key == "ece_quantile" else key
        for key in choices.FIRST_COLUMNS
    ]
    value = chosen or choices.COLUMNS.among(tuple(first), options)
    assign_again(choices.COLUMNS.key, choices.ADDED_METRICS.key)
    with st.popover("Columns", key="columns_menu"), st.container(width=MENU_PIXELS):
        control(session, choices.ADDED_METRICS)
        return control(session, choices.COLUMNS, options, value=value)


def folds(session: Session, rows: Data | None) -> None:
    split = rows is not None and rows.is_split
    if rows is not None and rows.fold_names and not split:
        name, n = named_folds(rows.origin), len(rows.fold_names)
        st.caption(FOLDS_FROM_COLUMN.format(name, n))
    elif split:
        st.caption(SPLIT)
    else:
        control(session, choices.N_FOLDS)
    control(session, choices.SEED)


def example_menu(session: Session, key: str = "example_menu") -> None:
    """The examples in one line. A second menu of a page has another key."""
    ask(
        st.selectbox,
        key,
        session.example if session.upload is None else None,
        session.choose_example,
        placeholder="Choose an example",
        label="Or look at an example",
        options=list(EXAMPLES),
        format_func=lambda key: f"Example: {EXAMPLES[key].title}",
    )


def example_list(session: Session) -> None:
    """The examples in a menu whose widget is drawn when it is opened.

    The select box alone needs 160 kB of scripts, for which a first visit would wait.
    """
    key = "example_list"
    assign_again(key)
    with st.popover("Examples", key="examples"):
        ask(
            st.radio,
            key,
            session.example if session.upload is None else None,
            session.choose_example,
            label="Examples",
            label_visibility="collapsed",
            options=list(EXAMPLES),
            format_func=lambda key: EXAMPLES[key].title,
        )


def toolbar(name: str) -> DeltaGenerator:
    """A line of controls, which stands directly above what they change.

    The style knows it by its name, which is that of the page if the page has one line.
    """
    key = f"toolbar_{name}"
    return st.container(horizontal=True, vertical_alignment="bottom", key=key, gap="medium")


def later() -> DeltaGenerator:
    """A part of a toolbar for controls that are known only after the analysis."""
    return st.container(horizontal=True, vertical_alignment="bottom", gap="medium", width="content")


def slice_columns(session: Session, rows: Data) -> tuple[str, ...]:
    """The controls of the columns that make slices; returns one column, or two crossed ones."""
    first = control(session, choices.SLICE_BY, list(rows.columns))
    others = rows.crossable_with(first)
    crossed = control(session, choices.CROSS, ["", *others]) if others else ""
    if rows.has_rows:
        control(session, choices.N_RANGES)
    return (first, crossed) if crossed else (first,)


def settings(session: Session, rows: Data | None) -> None:
    """The menu of all that is shared by the pages with an analysis."""
    facts = state.facts(session)
    changes = {
        choice: value
        for choice, value in session.chosen.changed(session.start).items()
        # The model and the tab have a control that is always seen.
        if choice.acts(session.page, facts) and choice not in (choices.MODEL, choices.TAB)
    }
    label = f"Settings ({len(changes)})" if changes else "Settings"
    # The diagram of Reliability has its bins beside it.
    has_bins = session.page in choices.BINNED and session.page != "Reliability"
    binning = (choices.STRATEGY, choices.N_BINS, choices.AUTO_BINS) if has_bins else ()
    shared = (choices.METHODS, choices.CONFIDENCE_LEVEL, choices.N_FOLDS, choices.SEED, *binning)
    # The page of the calibrators has a second slider.
    epsilon_key = f"settings_{choices.EPSILON.key}"
    assign_again(*(choice.key for choice in shared), epsilon_key)
    with st.popover(label, key="settings"), st.container(width=MENU_PIXELS):
        _changed(session, changes)
        methods(session)
        control(session, choices.CONFIDENCE_LEVEL)
        folds(session, rows)
        if has_bins:
            bins(session)
            control(session, choices.AUTO_BINS)
        if choices.EPSILON.acts(session.page, facts):
            control(session, choices.EPSILON, key=epsilon_key)


def _changed(session: Session, changes: Mapping[Choice[Any], Any]) -> None:
    """Draw a chip for each changed choice that acts on this page. A click restores its default."""
    if not changes:
        return
    st.caption("Changed from the default")
    with st.container(horizontal=True, gap="xxsmall", key="changed"):
        for choice, value in changes.items():
            label, key = f"{choice.chip_text(value)} ✕", f"reset_{choice.key}"
            st.button(label, key=key, on_click=session.reset, args=(choice,))
    if len(changes) > 1:
        st.button("Reset all", key="reset_all", on_click=session.reset, args=tuple(changes))


def view(session: Session, rows: Data) -> None:
    n = rows.n_classes
    kind, index = check_view(session.settings.view, n)

    def change_kind(kind: str) -> None:
        # "Within top-n" of n classes always contains the true one, so the rank is at most n - 1.
        session.change(choices.VIEW, f"{kind}:{min(FIRST_VIEW[kind], n - 1)}")

    def change_index(index: int | None) -> None:
        if index is not None:
            session.change(choices.VIEW, f"{kind}:{int(index)}")

    words = {
        "label": choices.VIEW.label,
        "help": choices.VIEW.help,
        "format_func": VIEW_KINDS.__getitem__,
    }
    look = {"label": "Class", "help": "Type to search.", "format_func": partial(plain_name, rows)}
    with st.container(key="view", horizontal=True, vertical_alignment="center"):
        ask(choices.SEGMENTED, "view_kind", kind, change_kind, options=tuple(VIEW_KINDS), **words)
        if kind == "class":
            ask(st.selectbox, "view_class", index, change_index, options=range(n), **look)
        else:
            limits = {"label": "Rank r", "min_value": 1, "max_value": n}
            ask(st.number_input, "view_rank", index, change_index, **limits)
        st.caption(view_caption(rows, session.settings.view))


def plain_name(rows: Data, k: int) -> str:
    return " ".join(rows.class_names[k].split()) or f"class {k}"


def view_caption(rows: Data, view: str) -> str:
    kind, index = check_view(view, rows.n_classes)
    name = plain(plain_name(rows, index)) if kind == "class" else str(index)
    if kind == "class":
        meaning = f"Score: that of **{name}**. Outcome: is {name} the true class?"
    elif kind == "within":
        meaning = (
            f"Score: the sum of the {index} largest scores of the row. Outcome: is the true class "
            "one of these?"
        )
    elif index == 1:
        meaning = (
            "Score: the largest score of the row (confidence). Outcome: is the predicted class "
            "correct?"
        )
    else:
        meaning = (
            f"Score: the score of rank {index} in the row. Outcome: is its class the true class?"
        )
    return f"View: **{VIEW_CALLED[kind]} {name}**. {meaning}"
