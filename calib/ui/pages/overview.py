"""Overview: can these probabilities be trusted, and what would repair them?"""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import streamlit as st

from calib import text
from calib.analysis import Analysis, LiveAnalysis
from calib.analysis.recommendation import interval_text
from calib.calibrators import CALIBRATORS
from calib.curves.sensitivity import MAX_BINS, MIN_BINS
from calib.figures.before_after import before_after_panel
from calib.figures.summary import (
    advised,
    change_bars,
    largest_gaps,
    ranked_results,
    summary_chart,
)
from calib.figures.svg import to_svg
from calib.loading.examples import EXAMPLES
from calib.ui.controls import uploaders, use_calibrator, widgets
from calib.ui.layout import charts, frame, words
from calib.ui.session import results, state
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session

# Symbol and colour of an answer. The symbol has the same meaning as the colour.
ANSWER_LOOKS = {
    "not calibrated": ("✕ Not calibrated", "red"),
    "no evidence": ("✓ No evidence of miscalibration", "green"),
    "inconclusive": ("? Inconclusive", "orange"),
}
# Each text ends a sentence that begins with "These probabilities".
KINDS = {
    "uneven": "are too high in some ranges, too low in others",
    "reversed": "rank the rows in reverse order",
    "uninformative": "do not separate positive from negative rows",
    "some classes": "are calibrated as a whole, but not for every class",
}
PHONE_PANEL_PIXELS = 180
SAMPLE = "outcome,score\n1,0.83\n0,0.12\n1,0.64\n"


def page() -> None:
    session = frame.begin("Overview")
    if session.upload is None:
        landing(session)
    widgets.changed(session)
    frame.show(session, frame.models(session), partial(body, session))


def landing(session: Session) -> None:
    """Draw the purpose of the app, the drop zone for a file, and the examples."""
    with st.container(key="landing"):
        purpose, drop, menu = st.columns([3, 5, 3], gap="medium", vertical_alignment="center")
    with purpose, st.container(gap=None):
        st.html(
            '<p class="purpose">Can these probabilities be trusted?</p><p>One row per prediction: '
            "outcomes (0/1 or yes/no) and probabilities. Files stay where this app runs.</p>"
        )
        look: dict[str, Any] = {"type": "tertiary", "mime": "text/csv"}
        widgets.download("Sample file", SAMPLE, "sample.csv", "sample", **look)
    with drop:
        uploaders.uploader(session, "data", "Drop your predictions: CSV, Parquet or NumPy")
    with menu:
        widgets.example_menu(session)


def about(session: Session) -> None:
    if session.upload is None:
        st.markdown(f"#### About this example\n\n{EXAMPLES[session.example].story}")


def body(session: Session, model: state.Model) -> None:
    analysis = model.analysis
    answer(session, analysis)
    with st.container(key=state.key("evidence")):
        left, right = st.columns([2, 3], gap="large")
    with left:
        before_and_after(analysis)
    with right:
        recommendation(session, model)
        findings(session, model)
    frame.once("about", partial(about, session))


def answer(session: Session, analysis: Analysis) -> None:
    """The answer as a sentence, and three numbers."""
    pill, color = ANSWER_LOOKS[analysis.verdict.answer]
    example = '<span class="pill">Example</span>' if session.upload is None else ""
    lead = escape(" ".join(filter(None, (finding(session, analysis), correction(analysis)))))
    with st.container(key=state.key("answer")):
        st.html(
            f'<section class="answer"><div><p>{example}<span class="pill {color}">{pill}</span></p>'
            f"<h2>{escape(headline(session, analysis))}</h2><p class=lead>{lead}</p></div>"
            f"<dl>{''.join(key_numbers(session, analysis))}</dl></section>"
        )


def headline(session: Session, analysis: Analysis) -> str:
    verdict = analysis.verdict
    if verdict.answer != "not calibrated":
        return f"{verdict.heading}."
    scores = "confidences" if in_top_label(session, analysis) else "probabilities"
    whose = "These example" if session.upload is None else "These"
    return f"{whose} {scores} {KINDS.get(verdict.kind, f'are {verdict.kind}')}."


def in_top_label(session: Session, analysis: Analysis) -> bool:
    return session.is_matrix and analysis.settings.view == "top:1"


def finding(session: Session, analysis: Analysis) -> str:
    verdict, data = analysis.verdict, analysis.data
    if verdict.answer != "no evidence":
        return verdict.finding
    mean, rate = text.percents(data.mean_score, data.base_rate)
    predicted, observed = averages(session, analysis)
    return f"{predicted} is {mean}, {observed} {rate}. {verdict.finding}"


def averages(session: Session, analysis: Analysis) -> tuple[str, str]:
    """What the mean score and the observed frequency are called."""
    top = in_top_label(session, analysis)
    return ("Mean confidence", "accuracy") if top else ("Mean prediction", "base rate")


def correction(analysis: Analysis) -> str:
    """What the recommended calibrator does about it."""
    result, after = advised(analysis), analysis.after
    if result is None or after is None:
        return ""
    name = CALIBRATORS[result.key].name
    if after.answer == "no evidence":
        return f"{name} corrects it."
    return f"After {name}: {after.summary}."


def key_numbers(session: Session, analysis: Analysis) -> list[str]:
    data, ks, result = analysis.data, analysis.uncalibrated.ks, advised(analysis)
    after = "" if result is None else f" · after: {text.percent(result.ks.statistic)}"
    mean, rate = text.percents(data.mean_score, data.base_rate)
    predicted, observed = averages(session, analysis)
    positive = "correct" if in_top_label(session, analysis) else "positive"
    p = text.p_value(ks.p_value)
    meaning = next(column.meaning for column in analysis.columns if column.key == "ks_error")
    ks_help = f"{meaning} {words.on_average(analysis.uncalibrated.metrics['ks_error'])}"
    rows_help = f"{text.plural(data.n_distinct, 'distinct score')}. {words.set_aside(data)}"
    numbers = (
        ("KS calibration error", text.percent(ks.statistic), f"{p}{after}", ks_help),
        (
            predicted,
            mean,
            f"{observed} {rate}",
            f"For a calibrated model it is near the {observed}.",
        ),
        ("Rows", f"{data.n_rows:,}", f"{data.n_positive:,} {positive}", rows_help),
    )
    return [
        f'<div title="{escape(about)}"><dt>{escape(label)}</dt><dd>{escape(value)}'
        f"<small>{escape(below)}</small></dd></div>"
        for label, value, below, about in numbers
    ]


def before_and_after(analysis: Analysis) -> None:
    """Before and after in one chart, or in two where there is no room for its labels."""
    curve, result = analysis.uncalibrated.reliability, advised(analysis)
    if reason := words.undrawn(curve):
        st.info(reason)
        return
    keys = ["uncalibrated", *([] if result is None else [result.key])]
    pair = "".join(
        to_svg(before_after_panel(analysis, key, side=PHONE_PANEL_PIXELS)) for key in keys
    )
    at = text.level(curve.confidence_level)
    n_bins = text.plural(len(curve.rows), "bin")
    charts.drawing(
        "<figure class=summary><figcaption><b>Observed frequency by predicted probability</b>"
        f"{n_bins} with {at} intervals. <span class=wide>Orange: the error of the uncalibrated "
        f"scores.</span></figcaption><div class=wide>{to_svg(summary_chart(analysis))}</div>"
        f"<div class=small>{pair}</div></figure>",
        "summary",
    )


def recommendation(session: Session, model: state.Model) -> None:
    analysis, result = model.analysis, advised(model.analysis)
    with st.container(border=True, key=state.key("best_fix")):
        if result is None:
            st.html(f"<h3 class=sentence>{escape(analysis.recommendation.sentence)}</h3>")
        else:
            ranked = ranked_results(analysis)
            before, after = text.adding_up(
                ranked["uncalibrated"].metrics["log_loss"].value,
                ranked[result.key].metrics["log_loss"].value,
                ranked[result.key].differences["log_loss"],
            )
            st.html(
                f"<p class=eyebrow>Recommended · {loss_name(analysis)}</p>"
                f"<h3>{escape(result.label)} <span>{before} → </span>{after}</h3>"
            )
        st.markdown(worst_bins(analysis))
        details = f"{analysis.after_sentence} {words.protocol(analysis)}"
        st.caption(text.plain(" ".join(evidence(analysis))), help=text.plain(details))
        charts.drawing(calibrators_table(analysis), "calibrators")
        with st.container(horizontal=True, vertical_alignment="center", key=state.key("steps")):
            link = session.link()
            use_calibrator.button(session, model)
            st.page_link(PAGES["Reports"], label="Save a report", query_params=link)


def loss_name(analysis: Analysis) -> str:
    rows = "held-out" if analysis.data.protocol == "test rows" else "out-of-fold"
    return f"{rows} log loss" if analysis.multiclass is None else f"{rows} multiclass log loss"


def worst_bins(analysis: Analysis) -> str:
    """The result in plain words: the largest error of a bin before and after."""
    if advised(analysis) is None:
        return ""
    before, after = (text.number(100.0 * gap, 0) for gap in largest_gaps(analysis))
    return f"The worst bin was off by {before} percentage points, and is off by {after} after it."


def evidence(analysis: Analysis) -> list[str]:
    result, reasons = advised(analysis), analysis.recommendation.reasons
    if result is None:
        return list(reasons)
    change = ranked_results(analysis)[result.key].differences["log_loss"]
    sentences = [f"Change {interval_text(change, analysis.settings.confidence_level)}.", *reasons]
    return sentences if analysis.multiclass is None else [*sentences, analysis.after_sentence]


def calibrators_table(analysis: Analysis) -> str:
    """Every calibrator with its log loss, and its change with the interval drawn."""
    chosen, ranked = analysis.recommendation.method, ranked_results(analysis)
    rows = "".join(
        f"<tr{' class=marked' if key == chosen else ''}><th scope=row>"
        f"{escape(analysis.methods[key].label)}</th>"
        f"<td>{text.number(ranked[key].metrics['log_loss'].value)}</td>"
        f"<td>{bar}</td></tr>"
        for key, bar in change_bars(analysis).items()
    )
    at = text.level(analysis.settings.confidence_level)
    loss = "Log loss" if analysis.multiclass is None else "Multiclass log loss"
    return (
        "<div class=metric-table><table class=calibrators><thead><tr><th scope=col>Calibrator</th>"
        f"<th scope=col>{loss}</th><th scope=col>Change, {at} CI (line: no change)</th></tr>"
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def findings(session: Session, model: state.Model) -> None:
    """One finding of each of the other pages, with a link to it."""
    lines = {
        "Slices": slices_finding(session, model),
        "Reliability": bins_finding(session, model.analysis),
        "Decisions": costs_finding(session, model.analysis),
        "Data": held_out_finding(session),
    }
    with st.container(key=state.key("findings")):
        for page, sentence in lines.items():
            if sentence:
                label = f"**{page}**: {text.plain(sentence)}"
                st.page_link(PAGES[page], label=label, query_params=session.link())


def slices_finding(session: Session, model: state.Model) -> str:
    """How many slices of the first column are miscalibrated, before and after."""
    column = next((name for name in model.rows.columns if name != model.rows.time_name), "")
    if not column:
        return ""
    result = advised(model.analysis)
    methods = ["uncalibrated", *([] if result is None else [result.key])]
    tests = results.slice_tests_of(session, results.sliced(session, model, (column,)), methods)
    counts = [int(one.significant().sum()) for one in tests.values()]
    after = f", {counts[1]:,} after calibration" if len(counts) > 1 else ""
    total = len(tests["uncalibrated"].names)
    return f"{counts[0]:,} of {total:,} slices by {column} are miscalibrated{after}"


def bins_finding(session: Session, analysis: LiveAnalysis) -> str:
    """Whether the number of bins matters for the conclusion."""
    at = session.settings.confidence_level
    by_bins = session.memo.heavy(results.sensitivity, analysis.held_out, "uncalibrated", at)
    if by_bins.flips:
        return f"{text.percent(by_bins.share, 0)} of the numbers of bins find miscalibration"
    return f"the conclusion is the same with {MIN_BINS} to {MAX_BINS} bins"


def costs_finding(session: Session, analysis: LiveAnalysis) -> str:
    """The expected cost before and after, at the costs of the Decisions page."""
    decided, result = results.decisions(session, analysis), advised(analysis)
    if result is None:
        return ""
    before, after = decided.methods["uncalibrated"], decided.methods[result.key]
    change = after.change
    sure = "" if change.high < 0.0 or change.low > 0.0 else ": not significant"
    costs = text.number(before.cost.value, 3), text.number(after.cost.value, 3)
    return f"expected cost per row {costs[0]} → {costs[1]}{sure}"


def held_out_finding(session: Session) -> str:
    """Ask what only a person knows about an uploaded file."""
    if session.upload is None or session.unseen != "unknown":
        return ""
    return "not confirmed that the model was not trained on these rows"
