"""Every page, with an uploaded file and with counts: it shows the numbers that the library gives.

All names of the data are hostile. No page gives one to Markdown or HTML as it is.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import calib
from calib.analysis import LiveAnalysis
from calib.analysis.decisions import Costs, decide
from calib.analysis.summary import Parts
from calib.calibrators import CALIBRATORS
from calib.features.automate import desk_words
from calib.features.automate.desk import desk
from calib.features.automate.reading import decisions_example
from calib.loading import Columns
from calib.loading.examples import EXAMPLES
from calib.metrics import METRICS
from calib.text import number, percent
from calib.ui.session import identity
from calib.ui.session.page_list import PAGES, WITH_ANALYSIS
from calib.ui.session.session import SESSION
from calib.words.cumulative import panels_heading
from calib.words.overview import counts, headline
from calib.words.verdicts import HEADINGS
from tests.pages.harness import (
    address,
    answers,
    copied,
    drawings,
    dropped,
    go,
    headings,
    opened,
    outline,
    rows,
    said,
    start,
    tables,
    text_of,
)
from tests.pages.test_hostile import bare, binary, matrix, models, trap
from tests.rare import common_first, rare

COLUMNS = {
    "outcome": trap("outcome"),
    "score": trap("score"),
    "positive": trap("positive"),
    "slices": (trap("slice"),),
    "time": "date",
}
NAME = trap("file").replace("/", "-")


@dataclass(frozen=True)
class Shown:
    """A page, and the library's results for its rows, which may have been counted."""

    app: AppTest
    data: calib.Predictions | calib.Aggregate
    analysis: LiveAnalysis
    frame: pd.DataFrame


def overview(shown: Shown) -> None:
    after = shown.analysis.methods["platt"]
    (answer,) = answers(shown.app)
    assert headline(shown.analysis, Parts()) in answer
    for one in counts(shown.analysis):
        bars = f"<b>{one.of(one.now)}</b> predicted now"
        assert any(bars in text_of(each) for each in shown.app.get("html"))
    assert f"{len(shown.frame):,} rows" in drawings(shown.app)[0]
    (line,) = copied(shown.app, "calibrators")[0].to_dict("records")
    assert float(line["log_loss"]) == pytest.approx(after.metrics["log_loss"].value)


def data_page(shown: Shown) -> None:
    assert f"{len(shown.frame):,} rows" in said(shown.app)
    assert bool(len(shown.app.dataframe)) == shown.data.has_rows
    assert ("there are no rows to show here" in said(shown.app)) != shown.data.has_rows


def reliability(shown: Shown) -> None:
    bins = copied(shown.app, "bins:-uncalibrated")[0]
    *curve, total = bins["rows"].astype(int)
    assert sum(curve) == total == len(shown.frame)
    expected = shown.analysis.uncalibrated.reliability
    assert bins["observed"].astype(float)[:-1].tolist() == pytest.approx(expected.observed)


def cumulative(shown: Shown) -> None:
    ks, kuiper = (shown.analysis.uncalibrated.all_tests[key] for key in ("ks", "kuiper"))
    assert f"KS calibration error {percent(ks.statistic)} (" in said(shown.app)
    assert f"Kuiper error {percent(kuiper.statistic)} (" in said(shown.app)
    assert copied(shown.app, "tests-of-calibration")[0].shape[0] == 5


def panels(shown: Shown) -> None:
    assert len(drawings(shown.app)) == 4 * len(shown.analysis.methods)
    titles = [panels_heading(result) for result in shown.analysis.methods.values()]
    assert headings(shown.app)[2:] == titles


def slices(shown: Shown) -> None:
    (by,), outcome, score = (COLUMNS[role] for role in ("slices", "outcome", "score"))
    of_slices = shown.frame.groupby(by)
    found = copied(shown.app, "slices")[0]
    # The file has each slice before and after calibration.
    found = found[found["Scores"] == "Uncalibrated"]
    assert found["Rows"].astype(int).tolist() == [len(shown.frame), *of_slices.size()]
    rates = of_slices[outcome].agg(lambda each: (each == COLUMNS["positive"]).mean())
    for column, expected in (("Observed", rates), ("Predicted", of_slices[score].mean())):
        # The file has six significant digits.
        assert found[column].astype(float).tolist()[1:] == pytest.approx(expected, rel=1e-5)
    periods = copied(opened(shown.app, "folded_periods_first"), "periods")
    assert len(periods[0]) == shown.frame["date"].nunique()
    assert ("search_segments" in {each.key for each in shown.app.button}) == shown.data.has_rows


def calibrators(shown: Shown) -> None:
    found = copied(shown.app, "metrics")[0].set_index("method")
    expected = shown.analysis.table().set_index("method")
    for name in ("log_loss", "log_loss_low", "ks_error"):
        assert found[name].astype(float).to_dict() == pytest.approx(expected[name].to_dict())


def decisions(shown: Shown) -> None:
    found = copied(shown.app, "decisions-by-method")[0].set_index("Method")
    decided = decide(shown.analysis.held_out, Costs())
    for key, decision in decided.methods.items():
        line = found.loc[CALIBRATORS[key].label]
        kinds = [
            f"{sign} {kind}" for sign in ("True", "False") for kind in ("positives", "negatives")
        ]
        assert sum(int(line[kind]) for kind in kinds) == len(shown.frame)
        assert line["Cost per row"].startswith(f"{number(decision.cost.value)} ")


def desk_of_example(shown: Shown) -> None:
    assert headings(shown.app)[1] == desk_words.headline(desk(decisions_example()), 0.05)


def monitor(shown: Shown) -> None:
    by = COLUMNS["slices"][0] if shown.data.has_rows else None
    last = pd.to_datetime(shown.frame["date"]).max().date()
    result = calib.monitor(shown.data, time="date", slices=by, today=last)
    assert headings(shown.app)[1] == result.headline
    assert ("slice_by" in {each.key for each in shown.app.selectbox}) == shown.data.has_rows


def reports(shown: Shown) -> None:
    labels = [each.proto.label for each in shown.app.get("download_button")]
    assert labels[-4:] == ["HTML", "JSON", "Markdown", "Tables (CSV)"]
    assert {"save", "grade"} <= {each.key for each in (*shown.app.button, *shown.app.radio)}


def methods(shown: Shown) -> None:
    listed = " ".join(one.proto.body for one in shown.app.get("html"))
    assert not [key for key in (*METRICS, *CALIBRATORS) if key not in listed]


FACTS: dict[str, Callable[[Shown], None]] = {
    "Overview": overview,
    "Reliability": reliability,
    "Reliability?tab=cumulative": cumulative,
    "Reliability?tab=panels": panels,
    "Slices": slices,
    "Calibrators": calibrators,
    "Decisions": decisions,
    "Automate": desk_of_example,
    "Monitor": monitor,
    "Reports": reports,
    "Learn": methods,
    "Data": data_page,
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """By kind of file: its content, its data and their analysis."""
    frame = binary(1200)
    rows = calib.load(frame, **COLUMNS)
    counts = tmp_path_factory.mktemp("counts") / "cells.parquet"
    calib.aggregate(rows).save(counts)
    files = {"rows": frame.to_csv(index=False), "counts": counts.read_bytes()}
    settings = calib.Settings(methods=("platt",))
    return frame, {
        kind: (files[kind], data, calib.analyze(data, settings))
        for kind, data in (("rows", rows), ("counts", calib.Aggregate.load(counts)))
    }


@pytest.mark.parametrize("kind", ["rows", "counts"])
@pytest.mark.parametrize("page", FACTS)
def test_a_page_shows_the_numbers_of_the_library(page, kind, expected):
    frame, by_kind = expected
    content, data, analysis = by_kind[kind]
    title, _, tab = page.partition("?tab=")
    link = {"m": "platt"} | ({"tab": tab} if tab else {})
    session = dropped({f"{NAME}.{'csv' if kind == 'rows' else 'parquet'}": content}, **link)
    if kind == "rows":
        session.take(session.upload.mapped(Columns(**COLUMNS)))
    app = start(title, session)
    assert not app.error
    FACTS[page](Shown(app, data, analysis, frame))
    assert not bare(app)
    levels = [level for level, _ in outline(app)]
    assert levels[:2] == [1, 2]
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))
    # Texts hold their evidence in a tooltip, which may be longer.
    controls = [each for each in app if each.type not in ("markdown", "caption")]
    helps = {getattr(each, "help", "") or "" for each in controls}
    assert not [text for text in helps if len(re.findall(r"[.?!:](?= [A-Z]|$)", text)) > 2]


@pytest.mark.parametrize("page", PAGES)
def test_nobody_sees_anything_without_signing_in(page, monkeypatch, texts):
    monkeypatch.setattr(identity, "is_configured", lambda: True)
    app = start(page, bins="7")
    assert [found.label for found in app.button] == ["Sign in"]
    texts(app.markdown[0].value, "each case")
    assert not any(app.get(kind) for kind in ("page_link", "dataframe", "html", "bidi_component"))
    assert SESSION not in app.session_state


# Two pages are enough for a property that every page has from the shared frame.
TWO = ("Overview", "Calibrators")
on_two_pages = pytest.mark.parametrize("page", common_first(WITH_ANALYSIS, TWO))


@pytest.mark.parametrize("page", common_first((*WITH_ANALYSIS, "Data"), (*TWO, "Reports")))
def test_a_link_to_data_that_are_not_here_shows_no_analysis(page, texts):
    link = {"v": "1", "data": "0123456789ab", "file": "clean.csv", "rows": "4000", "bins": "7"}
    app = start(page, **link)
    texts.shown(said(app), "the file")
    texts.shown(said(app), "what to do")
    assert not any(app.get(kind) for kind in ("plotly_chart", "dataframe"))
    assert not answers(app)
    assert "Naive Bayes" not in said(app)
    assert address(app) == link


@on_two_pages
def test_nothing_is_concluded_from_reversed_scores_before_a_person_says_which_it_is(page):
    app = start(page, rows(reverse=True), m="platt")
    assert said(app).count("Positive rows have lower scores") == 1
    assert not {"use", "save"} & {each.key for each in app.button}
    kinds = ("metric", "plotly_chart", "dataframe", "download_button")
    assert not [kind for kind in kinds if app.get(kind)]
    assert not tables(app)
    for words in (*HEADINGS.values(), "Recommended", "Report"):
        assert not [each for each in app.markdown if words in each.value], words
    asked = [each.key for each in app.button if (each.key or "").startswith("choose_")]
    assert asked == ["choose_0", "choose_1", "choose_2"]


@pytest.mark.parametrize("page", ["Overview", "Calibrators"])
def test_warnings_stand_above_the_answer_and_notes_below_it(page):
    lines = rows(100).splitlines()
    app = start(page, "\n".join([*lines, *lines[1:6]]), m="platt")
    drawn = [*app.main]
    (warned,) = (n for n, each in enumerate(drawn) if "The rarer class has only" in text_of(each))
    (repeated,) = (
        n for n, each in enumerate(drawn) if "5 rows equal an earlier row" in text_of(each)
    )
    answers_at = [n for n, each in enumerate(drawn) if re.search("## |<h1>", text_of(each))]
    assert warned < answers_at[0] < repeated
    assert repeated == max(n for n, each in enumerate(drawn) if text_of(each))


@on_two_pages
def test_rows_that_the_model_was_trained_on_are_warned_of(page, texts):
    session = dropped(rows(), m="platt")
    session.unseen = "no"
    texts.shown(start(page, session).warning[0].value)


@on_two_pages
def test_a_handful_of_rows_is_shown(page):
    few = "outcome,score\n0,0.1\n0,0.2\n1,0.3\n0,0.4\n1,0.6\n1,0.9\n1,0.7\n"
    app = start(page, few, m="platt")
    assert bool(app.error) == (page == "Reports")  # A report has groups of at least 10 rows.


@on_two_pages
def test_a_page_without_calibrators_works(page):
    assert not start(page, rows(), m="uncalibrated", show="spline").error


@pytest.mark.parametrize("example", EXAMPLES)
@rare
def test_every_page_shows_every_example(example):
    app = start(ex=example)
    assert len(answers(app)) == 1
    for page in WITH_ANALYSIS:
        assert not go(app, page).error


@pytest.mark.parametrize(
    ("made", "columns"),
    [
        (models, {**COLUMNS, "model": "model"}),
        (matrix, {"outcome": "label", "score": tuple(map(trap, ("red", "green", "blue")))}),
    ],
)
@rare
def test_no_page_gives_a_name_of_models_or_classes_to_markdown(made, columns):
    session = dropped({f"{NAME}.csv": made()}, m="platt")
    session.take(session.upload.mapped(Columns(**columns)))
    assert session.upload.models
    app = start("Overview", session)
    for page in PAGES:
        assert not bare(go(app, page)), page


@pytest.mark.parametrize("page", common_first(PAGES, TWO))
@pytest.mark.parametrize("view", common_first(["top:2", "within:2", "class:3"], ["within:2"]))
def test_every_page_shows_every_view(view, page):
    app = start(page, ex="digits", m="temperature.isotonic", view=view)
    assert not app.error
    assert address(app)["view"] == view
    if page in TWO:
        kind, index = view.split(":")
        assert app.segmented_control(key="view_kind").value == kind
        number = app.selectbox if kind == "class" else app.number_input
        assert number(key=f"view_{'class' if kind == 'class' else 'rank'}").value == int(index)
