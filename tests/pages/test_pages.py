"""Every page on every example, and what a person does on them, without a browser."""

import json
import re
from html import unescape
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Element

import calib
from calib.analysis.recommendation import RULE
from calib.calibrators import CALIBRATORS
from calib.loading.examples import EXAMPLES
from calib.text import plain
from calib.ui.session import identity, state
from tests.rare import common_first

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "data",
    "reliability",
    "cumulative",
    "functions",
    "compare",
    "slices",
    "decisions",
    "reports",
)


def start(**named: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in named.items():
        app.query_params[name] = value
    return app.run()


def go(app: AppTest, page: str) -> AppTest:
    app.switch_page(f"pages/{page}.py" if page else "app.py").run()
    assert not app.exception
    return open_static(app)


def open_static(app: AppTest) -> AppTest:
    """Have the static diagram drawn with its controls, where the explorer stands above it."""
    return open_part(app, "static_diagram")


def open_part(app: AppTest, key: str) -> AppTest:
    """Have a part drawn that waits until a person opens it, if the page has it."""
    if key in app.session_state and not app.session_state[key]:
        app.session_state[key] = True
        app.run()
    return app


def upload(app: AppTest, text: str | bytes, name: str = "mine.csv") -> AppTest:
    go(app, "data")
    data = text if isinstance(text, bytes) else text.encode()
    app.file_uploader[0].upload(name, data, "text/csv").run()
    assert not app.exception
    return app


def rows(n: int = 400, scale: float = 1.0) -> str:
    rng = np.random.default_rng(0)
    p = rng.random(n)
    hits = rng.random(n) < p
    lines = [f"{int(hit)},{scale * score:.5f}" for hit, score in zip(hits, p, strict=True)]
    return "outcome,score\n" + "\n".join(lines) + "\n"


def said(app: AppTest) -> str:
    texts = [e.value for e in (*app.markdown, *app.caption, *app.error, *app.warning)]
    return " ".join([*answers(app), *texts])


def text_of(element: Element) -> str:
    """Markdown or HTML of one element."""
    if element.type in ("markdown", "caption", "warning"):
        return str(element.value)
    return str(element.proto.body) if element.type == "html" else ""


def answers(app: AppTest) -> list[str]:
    """What Overview answers, as text: one per model."""
    found = [e.proto.body for e in app.get("html")]
    return [unescape(re.sub("<[^>]*>", " ", body)) for body in found if 'class="answer"' in body]


def key_numbers(app: AppTest) -> dict[str, str]:
    """The numbers beside the answer by their labels."""
    body = next(e.proto.body for e in app.get("html") if 'class="answer"' in e.proto.body)
    return dict(re.findall("<dt>([^<]*)</dt><dd>([^<]*)<", body))


def outline(app: AppTest) -> list[tuple[int, str]]:
    """Level and text of every heading, in the order of the page."""
    found = []
    for each in app.main:
        if each.type == "markdown":
            marks = (re.match(r"(#+) (.*)", line) for line in each.value.split("\n"))
            found += [(len(mark[1]), mark[2]) for mark in marks if mark]
        elif each.type == "html":
            marks = re.finditer(r"<h(\d)>(.*?)</h\1>", each.proto.body)
            found += [(int(mark[1]), re.sub("<[^>]*>", "", mark[2])) for mark in marks]
    return found


def headings(app: AppTest) -> list[str]:
    return [re.sub(r":\w+\[.\] ", "", text) for _, text in outline(app)]


def heading_levels(app: AppTest) -> list[int]:
    return [level for level, _ in outline(app)]


def metric_tables(app: AppTest) -> list[str]:
    """The tables with intervals, as HTML."""
    found = [json.loads(each.proto.json) for each in app.get("bidi_component") if each.proto.json]
    drawn = [data["markup"] for data in found if isinstance(data, dict) and "markup" in data]
    return [body for body in drawn if "<table>" in body]


def drawings(app: AppTest) -> list[str]:
    """The charts that are SVG, each at its smallest width."""
    found = [each.proto for each in app.get("bidi_component")]
    return [json.loads(e.json)[0][1] for e in found if e.component_name == "calib_drawing"]


def copied(app: AppTest) -> dict[str, list[list[str]]]:
    """The cells of each table that can be copied and saved, by the name of its file."""
    found = [json.loads(each.proto.json) for each in app.get("bidi_component") if each.proto.json]
    drawn = [data for data in found if isinstance(data, dict) and "markup" in data]
    return {
        data["name"]: [line.split("\t") for line in data["text"].split("\n")]
        for data in drawn
        if "name=csv" in data["markup"]
    }


def button(app: AppTest, key: str):
    return next(found for found in app.button if found.key == key)


AWAITED = ("", *PAGES, "classes")


@pytest.mark.parametrize("page", [*AWAITED, "judge", "monitor", "gallery", "methods"])
def test_nobody_sees_anything_without_signing_in(page, monkeypatch):
    monkeypatch.setattr(identity, "is_configured", lambda: True)
    app = AppTest.from_file(str(ROOT / (f"pages/{page}.py" if page else "app.py"))).run()
    assert [found.label for found in app.button] == ["Sign in"]
    assert app.markdown[0].value == "## Sign in to calib"
    assert not app.get("page_link")
    assert not app.dataframe
    assert not app.get("plotly_chart")


@pytest.mark.parametrize("page", common_first(AWAITED, ["", "data", "compare", "reports"]))
def test_a_link_to_data_that_are_not_here_shows_no_analysis(page, texts):
    named = {"v": "1", "data": "0123456789ab", "file": "clean.csv", "rows": "4000", "bins": "7"}
    app = go(start(**named), page)
    texts.shown(said(app))
    texts.shown(said(app))
    assert not answers(app)
    assert not app.get("plotly_chart")
    assert not app.dataframe
    assert "Naive Bayes" not in said(app)
    assert dict(app.query_params) == named


def test_a_dropped_file_restores_the_view_of_its_link():
    first = upload(start(bins="7", axis="logit"), rows(), "clean.csv")
    link = dict(first.query_params)
    assert (link["file"], link["rows"]) == ("clean.csv", "400")
    app = go(start(**link), "reliability")
    app.file_uploader[0].upload("clean.csv", rows().encode(), "text/csv").run()
    assert not app.exception
    assert "This link is for" not in said(app)
    assert open_static(app).slider(key="n_bins").value == 7
    assert app.segmented_control(key="axis").value == "logit"
    assert dict(app.query_params) == link


def test_another_file_than_that_of_the_link_is_opened_only_on_request(texts):
    link = {"data": "0123456789ab", "file": "clean.csv", "rows": "4000", "bins": "7"}
    app = go(start(**link), "reliability")
    app.file_uploader[0].upload("other.csv", rows().encode(), "text/csv").run()
    texts.shown(said(app))
    assert not app.get("plotly_chart")
    button(app, "open_offered").click().run()
    assert app.get("plotly_chart")
    assert open_static(app).slider(key="n_bins").value == 7
    assert app.query_params["file"] == "other.csv"


def test_a_link_to_a_file_can_be_left_for_an_example():
    app = start(data="0123456789ab", file="clean.csv", bins="7")
    button(app, "show_example").click().run()
    assert len(key_numbers(app)) == 3
    assert not app.query_params


def test_what_a_link_calls_its_file_stays_text():
    app = start(data="0123456789ab", file="![i](http://x.test) **b**\n# c")
    (heading,) = [m.value for m in app.markdown if "This link is for" in m.value]
    assert "![i](" not in heading
    assert "\n" not in heading


def reloaded(app: AppTest) -> AppTest:
    return start(**dict(app.query_params))


def test_a_reload_finds_the_data_again_by_the_same_browser_only(monkeypatch, texts):
    monkeypatch.setattr(state, "browser", lambda: "a")
    app = upload(start(m="platt"), rows(), "mine.csv")
    app.radio(key="unseen").set_value("yes").run()
    go(app, "")
    verdict = app.markdown[0].value
    again = reloaded(app)
    assert again.markdown[0].value == verdict
    assert again.session_state["calib"].unseen == "yes"
    monkeypatch.setattr(state, "browser", lambda: "b")
    texts.shown(said(reloaded(app)))
    # A browser without a secret is no browser: all of them would be one.
    monkeypatch.setattr(state, "browser", lambda: "")
    upload(start(m="platt"), rows(), "mine.csv")
    texts.shown(said(reloaded(app)))


def test_a_reload_finds_a_file_that_cannot_be_analysed_yet(monkeypatch):
    monkeypatch.setattr(state, "browser", lambda: "a")
    app = upload(start(m="platt"), rows(scale=100.0), "percent.csv")
    assert app.error
    assert "data" not in app.query_params
    again = go(reloaded(app), "data")
    assert [error.value for error in again.error] == [error.value for error in app.error]


@pytest.mark.parametrize("example", common_first(EXAMPLES, ("rare_event",)))
def test_every_page_shows_every_example(example):
    app = start(ex=example)
    assert not app.exception
    assert not app.error
    assert len(answers(app)) == min(2, len(EXAMPLES[example].load_models()))
    for page in PAGES:
        go(app, page)
        assert not app.error


def test_an_answer_without_a_finding_says_both_means():
    assert "Mean prediction is 37.3%, base rate 37.3%." in said(start(ex="logistic"))


def test_a_file_that_is_dropped_on_the_first_page_is_answered_there():
    app = start()
    app.file_uploader[0].upload("mine.csv", rows().encode(), "text/csv").run()
    assert not app.error
    assert "File: **mine**" in said(app)
    assert headings(app)[1] == "These probabilities look calibrated."
    assert app.query_params["file"] == "mine.csv"


@pytest.mark.parametrize(
    ("data", "asked"), [(rows(scale=100.0).encode(), "percent"), (b"\x89PNG\r\n\x1a\n", "image")]
)
def test_a_file_that_raises_a_question_leads_from_the_first_page_to_data(data, asked, texts):
    app = start()
    app.file_uploader[0].upload("mine.csv", data, "text/csv").run()
    assert not app.exception
    assert headings(app)[0] == "calib: Data"
    texts.shown(app.error[0].value, asked)


def test_every_page_has_one_h1_and_skips_no_heading():
    app = start(ex="digits", m="uncalibrated.platt.spline")
    for page in ("", *PAGES, "classes", "judge", "monitor", "gallery", "methods"):
        levels = heading_levels(go(app, page))
        assert levels[:2] == [1, 2], page
        assert levels.count(1) == 1, page
        assert all(below <= above + 1 for above, below in pairwise(levels)), page


def test_help_of_controls_has_at_most_two_sentences():
    app = start(ex="digits", m="uncalibrated.platt.spline")
    for page in ("", *PAGES, "classes"):
        # Those of texts hold the evidence for them.
        controls = [each for each in go(app, page) if each.type not in ("markdown", "caption")]
        helps = {getattr(each, "help", "") or "" for each in controls}
        assert page == "data" or any(helps), page
        long = [text for text in helps if len(re.findall(r"[.?!:](?= [A-Z]|$)", text)) > 2]
        assert not long, (page, long)


def test_choices_survive_page_changes():
    app = go(start(), "reliability")
    app.slider(key="n_bins").set_value(23).run()
    app.segmented_control(key="strategy").set_value("uniform").run()
    open_part(go(app, "functions"), "spline_settings")
    app.select_slider(key="epsilon").set_value(-3.0).run()
    assert not app.toggle(key="epsilon_rule").value
    go(app, "")
    go(app, "reliability")
    assert app.slider(key="n_bins").value == 23
    assert app.segmented_control(key="strategy").value == "uniform"
    go(app, "functions")
    assert app.select_slider(key="epsilon").value == -3.0
    assert app.query_params["eps"] == "0.001"


def test_epsilon_returns_to_the_rule():
    app = go(start(eps="0.01"), "functions")
    assert app.select_slider(key="epsilon").value == -2.0
    app.toggle(key="epsilon_rule").set_value(True).run()
    assert app.toggle(key="epsilon_rule").value
    assert "eps" not in app.query_params


def test_a_chip_resets_its_setting():
    app = go(start(bins="20", by="uniform"), "reliability")
    button(app, "reset_n_bins").click().run()
    assert app.slider(key="n_bins").value == 15
    assert app.segmented_control(key="strategy").value == "uniform"
    button(app, "reset_strategy").click().run()
    assert app.query_params == {}


def test_a_refused_link_says_so_until_it_is_read():
    app = start(bins="1600")
    assert "bins=1600" in app.warning[0].value
    button(app, "dismiss_refused").click().run()
    assert not app.warning


def test_removing_every_calibrator_leaves_pages_that_work():
    app = go(start(show="spline"), "compare")
    app.multiselect(key="methods").set_value([]).run()
    assert not app.exception
    for page in ("", *PAGES):
        go(app, page)
        assert not app.error


def test_percentages_are_repaired_by_one_click(texts):
    app = upload(start(m="platt"), rows(scale=100.0))
    assert "Divide by 100" in button(app, "repair_percent").label
    go(app, "")
    texts.shown(app.error[0].value)
    go(app, "data")
    button(app, "repair_percent").click().run()
    assert not app.error
    go(app, "")
    assert key_numbers(app)["Rows"] == "400"


def test_a_first_line_that_may_be_data_is_asked_about(texts):
    text = rows().replace("outcome,score", "0,1")
    for answer, n_rows in (("0", "400"), ("1", "401")):
        app = upload(start(m="platt"), text)
        texts.shown(app.error[0].value)
        button(app, f"read_header_{answer}").click().run()
        assert not app.error
        go(app, "")
        assert key_numbers(app)["Rows"] == n_rows


def test_a_mark_of_two_meanings_is_asked_about_and_can_be_changed(texts):
    lines = rows().splitlines()
    weights = ['"1,234"', "999"] * 200
    text = "\n".join(
        ["outcome,score,weight", *(f"{a},{b}" for a, b in zip(lines[1:], weights, strict=True))]
    )
    app = upload(start(m="platt"), text)
    texts.shown(app.error[0].value)
    button(app, "repair_decimal-mark_1").click().run()
    assert not app.error
    assert app.selectbox(key="map_decimal").value == "."
    app.selectbox(key="map_decimal").set_value(",").run()
    assert not app.error


def test_words_repeats_and_spellings_are_told_on_the_data_page(texts):
    lines = rows().splitlines()
    words = {"1": ["yes", "Yes"], "0": ["no", "unknown"]}
    more = [
        f"{words[line[0]][i % 2]}{line[1:]},{'NA' if i % 5 else 'EU'}"
        for i, line in enumerate(lines[1:])
    ]
    app = upload(start(m="platt"), "\n".join(["outcome,score,region", *more, *more[:7]]))
    assert [name.casefold() for name in app.multiselect(key="map_positive").value] == ["yes"]
    texts.shown(app.error[0].value)
    told = " ".join(note.value for note in app.info)
    texts.shown(told)
    texts.shown(told)
    button(app, "repair_missing").click().run()
    assert not app.error


def reversed_rows() -> str:
    lines = [f"{line[0]},{1 - float(line[2:]):.5f}" for line in rows().splitlines()[1:]]
    return "\n".join(["outcome,score", *lines])


@pytest.mark.parametrize("page", ["", *PAGES[1:]])
def test_nothing_is_concluded_from_reversed_scores_before_a_person_says_which_it_is(page):
    app = go(upload(start(m="platt"), reversed_rows()), page)
    assert said(app).count("Positive rows have lower scores") == 1
    assert not {"use", "save"} & {each.key for each in app.button}
    for kind in ("metric", "plotly_chart", "dataframe", "download_button"):
        assert not app.get(kind), kind
    for words in ("Not calibrated", "Recommended", "Inconclusive", "No evidence", "Report"):
        assert not [each for each in app.markdown if words in each.value], words
    answers = [each.key for each in app.button if (each.key or "").startswith("choose_")]
    assert answers == ["choose_0", "choose_1", "choose_2"]


@pytest.mark.parametrize("answer", [0, 1, 2])
def test_each_answer_opens_the_analysis_and_is_asked_once(answer):
    n_positive = rows().count("\n1,")
    n_positive = 400 - n_positive if answer == 1 else n_positive
    app = go(upload(start(m="platt"), reversed_rows()), "")
    button(app, f"choose_{answer}").click().run()
    assert not [each for each in app.button if (each.key or "").startswith("choose_")]
    assert key_numbers(app)["Rows"] == "400"
    assert f"{n_positive} positive" in said(app)
    assert ("Positive rows have lower scores" in said(app)) == (answer == 2)
    # The page on which a person maps columns does not ask again either.
    go(app, "data")
    assert not [each for each in app.button if (each.key or "").startswith("choose_")]


def test_a_button_is_no_advice_where_no_calibrator_is_recommended():
    app = start(ex="ten_labels")
    assert button(app, "use").label == "Get a calibrator (SQL, Python, …)"
    assert "about 1 row per bin" in " ".join(each.value for each in go(app, "compare").info)
    assert button(start(), "use").label == "Get this calibrator (SQL, Python, …)"


@pytest.mark.parametrize("page", ["slices", "decisions"])
def test_a_calibrator_that_is_not_recommended_is_said_to_be_shown_and_why(page):
    def told(app: AppTest) -> str:
        found = [each.value for each in app.caption if "is shown for comparison" in each.value]
        return " ".join(found).replace("\\", "")

    assert told(go(start(), page)) == ""
    for n, lead in ((100, "No calibrator is recommended."), (400, "The recommendation is to keep")):
        lines = rows(n).splitlines()
        sited = [f"{line},{'ab'[i % 2]}" for i, line in enumerate(lines[1:])]
        app = upload(start(m="platt.beta"), "\n".join([f"{lines[0]},site", *sited]))
        app = go(app, page)
        assert lead in told(app)
        best = app.selectbox(key="after").value
        assert "because its held-out log loss is the lowest" in told(app)
        other = {"platt": "beta", "beta": "platt"}[best]
        app.selectbox(key="after").set_value(other).run()
        assert "because it was chosen" in told(app)


def test_several_labels_can_be_positive(texts):
    lines = rows().splitlines()
    names = {"1": ["III", "IV"], "0": ["I", "I"]}
    stages = [f"{names[line[0]][i % 2]}{line[1:]}" for i, line in enumerate(lines[1:])]
    app = upload(start(m="platt"), "\n".join([lines[0], *stages]))
    assert "no-positive" in {b.key.removeprefix("repair_") for b in app.button}
    app.multiselect(key="map_positive").set_value(["III", "IV"]).run()
    assert not app.error
    texts.shown(said(app))


def test_a_changed_mapping_changes_the_rows():
    lines = rows().splitlines()
    text = "\n".join([f"{lines[0]},other", *(f"{line},0.5" for line in lines[1:])])
    app = upload(start(m="platt"), text)
    app.selectbox(key="map_score").set_value("other").run()
    go(app, "reliability")
    go(app, "data")
    assert app.selectbox(key="map_score").value == "other"


def test_an_upload_outlives_page_changes_and_an_unreadable_file():
    app = upload(start(m="platt"), rows())
    go(app, "reliability")
    app.slider(key="n_bins").set_value(7).run()
    upload(app, b"\x89PNG\r\n\x1a\n", "picture.csv")
    assert "PNG image" in app.error[0].value
    go(app, "")
    assert key_numbers(app)["Rows"] == "400"


def test_pasted_rows_are_read_and_a_path_is_not():
    app = go(start(), "data")
    app.text_area(key="data_paste").set_value(rows())
    button(app, "use_paste").click().run()
    assert "400 rows" in said(app)
    app.text_area(key="data_paste").set_value("/etc/hostname")
    button(app, "use_paste").click().run()
    assert app.error
    assert not app.exception


def test_a_model_judged_on_its_training_rows_is_warned_of():
    app = upload(start(m="platt"), rows())
    app.radio(key="unseen").set_value("no").run()
    assert "optimistic" in app.warning[0].value
    for page in ("", "compare", "reliability"):
        go(app, page)
        assert "The model was trained on these rows" in app.warning[0].value, page
    go(app, "data")
    assert app.radio(key="unseen").value == "no"


def test_hostile_files_get_a_sentence_and_no_traceback():
    app = start()
    for data in (
        b"",
        b"outcome,score\n",
        b"outcome,score\n1,0.5\n",
        b"only\n1\n2\n",
        b"\x00\x01\x02\xff" * 50,
        b"outcome,score\n1,nan\n0,inf\n1,0.2\n",
        b"outcome,score\n1,high\n0,low\n",
        b"outcome,score\n" + b"1,0.5\n" * 50,
    ):
        assert upload(app, data).error, data
        go(app, "")
    for page in PAGES:
        go(app, page)


def test_names_from_a_file_cannot_load_an_image():
    image = "![](http://example.com/x.png)"
    app = upload(start(m="platt"), rows(), f"{image}.csv")
    for page in ("", *PAGES):
        go(app, page)
        assert image not in said(app)


def test_a_handful_of_rows_is_shown_everywhere_but_makes_no_report():
    app = upload(
        start(m="platt"), "outcome,score\n0,0.1\n0,0.2\n1,0.3\n0,0.4\n1,0.6\n1,0.9\n1,0.7\n"
    )
    for page in PAGES[:-1]:
        assert not go(app, page).error
    assert "10 rows" in said(go(app, "reports"))


def protocol(app: AppTest) -> str:
    """How the held-out scores were made, which Compare explains under a question mark."""
    return " ".join(each.proto.help for each in app.caption)


def test_folds_of_the_file_are_mapped_and_said_where_methods_are_compared(texts):
    head, *lines = rows().splitlines()
    text = "\n".join([f"{head},cv_fold", *(f"{line},{i % 3}" for i, line in enumerate(lines))])
    app = upload(start(folds="7"), text)
    chosen = next(found for found in app.selectbox if found.key == "map_fold")
    assert (chosen.label, chosen.value) == ("Cross-validation fold", "cv_fold")
    go(app, "compare")
    texts.shown(protocol(app))
    texts.shown(said(app))
    assert not [found for found in app.slider if found.key == "n_folds"]
    go(app, "data")
    next(found for found in app.selectbox if found.key == "map_fold").set_value(None).run()
    go(app, "compare")
    texts.shown(protocol(app))
    assert [found.value for found in app.slider if found.key == "n_folds"] == [7]


def test_compare_opens_with_the_recommended_method_and_how_many_tie_with_it():
    app = go(start(), "compare")
    (table,) = metric_tables(app)
    n_tied = table.count("tied with the best") + 1  # The best method has no such words.
    (heading,) = [each.value for each in app.markdown if each.value.startswith("## ")]
    assert heading.replace("\\", "") == (
        f"## Logistic clearly improves the scores and is the simplest of {n_tied} tied methods."
    )
    # Calibrators hardly change the ranking, so one sentence says the AUC of all.
    analysis = calib.analyze(calib.examples.EXAMPLES["naive_bayes"].load())
    areas = [each.metrics["auc"].value for each in analysis.methods.values()]
    ranking = f"AUC (ranking): {min(areas):.3f} to {max(areas):.3f} for all methods."
    assert ranking in said(app)
    assert "too large for chance if its interval does not include 0." in said(app)
    (advice,) = [each for each in app.markdown if each.value.startswith("Recommended")]
    assert advice.help.endswith(plain(RULE))
    # The losses differ by the change that is printed.
    assert advice.value.replace("\\", "") == (
        "Recommended: Logistic (on log-odds), with 2 parameters. Its probabilities are closer to "
        "the outcomes (log loss on unseen rows 0.4656 → 0.3643, change −0.101, "
        "95% CI −0.131 to −0.075)."
    )
    assert "2,000 rows" not in said(app)  # The data have fewer, and the heading gives the reason.
    texts = said(app).replace("\\", "")
    assert "### KS calibration error falls from 6.4% to 0.7% after Logistic" in texts
    assert "1,797 rows · 15 quantile bins · 95% intervals. Mean predicted" in texts


def test_a_line_per_method_is_read_without_a_pointer():
    app = go(start(m="platt"), "compare")
    words = CALIBRATORS["platt"].words(matrix=False)
    assert "- **{}**: {}".format(*map(plain, words)) in protocol(app)


def test_the_table_marks_the_recommended_row_and_shows_intervals_beside_the_values():
    app = go(start(), "compare")
    (table,) = metric_tables(app)
    (marked,) = re.findall("<tr class=marked>.*?</tr>", table)
    assert ">Logistic (on log-odds)<div><small>Recommended</small><button" in marked
    assert re.search(r"<td>0\.3643<small>0\.340 to 0\.391</small></td>", marked)
    change = r"<td>−0\.1013<small>−0\.131 to −0\.075</small><small>significantly lower<"
    assert re.search(change, marked)
    # Only an answer that is bad has a colour.
    assert "warned" not in marked
    assert "<small class=warned>worse than the best</small>" in table
    assert "<small class=warned>too large for chance</small>" in table


def test_columns_of_the_table_can_be_chosen():
    app = go(start(), "compare")
    assert app.multiselect(key="columns").value == ["log_loss", "log_loss_change", "ks_error"]
    app.multiselect(key="columns").set_value(["slope", "mce", "ece_uniform"]).run()
    assert not app.exception
    (table,) = metric_tables(app)
    assert ">Calibration slope<" in table
    assert ">Average gap\n(ECE, 15 uniform bins)<" in table
    assert "KS calibration error" not in table


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"ex": "random_forest"}, "Recommended: Stack (of calibrators). Its"),
        ({"ex": "digits", "m": "uncalibrated.temperature"}, "Recommended: Temperature. Its"),
    ],
)
def test_only_calibrators_of_one_score_have_a_number_of_parameters(named, said):
    app = go(start(**named), "compare")
    (advice,) = [each.value for each in app.markdown if each.value.startswith("Recommended")]
    assert advice.replace("\\", "").startswith(said)


def test_ks_is_always_called_a_calibration_error():
    """To credit analysts KS alone is discrimination."""
    app = go(start(m="uncalibrated.platt"), "compare")
    (table,) = metric_tables(app)
    assert ">Largest cumulative gap\n(KS calibration error)<" in table
    assert "KS error" not in table + said(app)
    app = go(start(ex="digits", m="uncalibrated"), "classes")
    assert "KS error" not in said(app)


@pytest.mark.parametrize("answer", [0, 1])
def test_a_third_label_is_asked_about(answer):
    text = rows().replace("\n1,", "\n#REF!,", 20)
    app = upload(start(m="platt"), text)
    button(app, "repair_no-positive").click().run()
    assert "Positive class" in {each.label for each in app.multiselect}
    app.multiselect(key="map_negative").set_value([]).run()
    assert "are all negative" in said(app)
    button(app, f"repair_other-labels_{answer}").click().run()
    assert not app.error
    assert ("380 rows." if answer == 0 else "400 rows.") in said(app)


@pytest.mark.parametrize("page", ["", "functions", "compare"])
def test_warnings_stand_above_the_answer_and_notes_below_it(page):
    lines = rows(100).splitlines()
    text = "\n".join([*lines, *lines[1:6]])
    app = go(upload(start(m="platt"), text), page)
    drawn = [*app.main]
    (warned,) = (n for n, each in enumerate(drawn) if "The rarer class has only" in text_of(each))
    (repeated,) = (
        n for n, each in enumerate(drawn) if "5 rows equal an earlier row" in text_of(each)
    )
    answers_at = [n for n, each in enumerate(drawn) if re.search("## |<h2", text_of(each))]
    assert warned < answers_at[0] < repeated
    assert repeated == max(n for n, each in enumerate(drawn) if text_of(each))
    read = [each.value for each in app.caption if each.value.startswith("File: **mine**")]
    # The menu of the data says it on every page.
    assert len(read) == (2 if page == "" else 1)


@pytest.mark.parametrize("answer", [0, 1])
def test_a_class_that_no_name_tells_is_asked_about_instead_of_an_answer(answer):
    text = rows(200).replace("\n0,", "\nA,").replace("\n1,", "\nB,")
    app = upload(start(m="platt"), text)
    for page in ("", "compare"):
        go(app, page)
        assert "One question about" in said(app)
        assert "calibrated" not in said(app)
        assert "labels `A` and `B`, and no name says which is positive" in said(app)
    (asked,) = (each for each in app.button if each.key == f"choose_{answer}")
    rate = re.search(r"\((\d+\.\d)% positive, AUC (0\.\d+)\)", asked.label.replace("\\", ""))
    asked.click().run()
    assert "One question about" not in said(app)
    model = app.session_state["calib"].upload.predictions
    assert rate[1] == f"{100 * model.outcome.mean():.1f}"
    assert rate[2] == f"{roc_auc_score(model.outcome, model.scores):.3f}"


def test_the_line_of_the_file_says_what_its_columns_were_read_as():
    app = go(upload(start(m="platt"), rows()), "compare")
    line = next(each.value for each in app.caption if each.value.startswith("File: "))
    assert "outcome: outcome, score: score, positive: 1 (guessed)" in line.replace("\\", "")


def findings_of(example: str) -> dict[str, str]:
    """The lines below the recommendation, by their names."""
    labels = [link.proto.label for link in start(ex=example).get("page_link")]
    return dict(label[2:].replace("\\", "").split("**: ", 1) for label in labels if "**: " in label)


def test_the_overview_says_whether_the_number_of_bins_matters():
    lines = findings_of("naive_bayes")
    assert list(lines) == ["Ranking", "Slices", "Reliability", "Decisions"]
    assert lines["Reliability"] == "same conclusion with 5 to 50 bins"
    depends = findings_of("logistic")["Reliability"]
    assert re.match(r"with \d+% of the numbers of bins, the ECE finds miscalibration$", depends)
    # Ten rows have no bins to speak of.
    assert "Reliability" not in findings_of("ten_rows")


@pytest.mark.parametrize("page", ["", "functions"])
def test_the_table_of_calibrators_can_be_copied_with_exact_numbers(page):
    shown = go(start(m="uncalibrated.platt.beta"), page)
    head, *lines = copied(shown)["calibrators"]
    table = calib.analyze(
        EXAMPLES["naive_bayes"].load(), {"methods": ("uncalibrated", "platt", "beta")}
    ).table()
    expected = sorted(table.loc[["platt", "beta"], "log_loss"])
    losses = [float(line[head.index("log_loss")]) for line in lines if line[0] != "Uncalibrated"]
    assert losses == expected


def test_the_table_of_classes_can_be_copied():
    head, *lines = copied(go(start(ex="digits", m="uncalibrated"), "classes"))["classes"]
    assert len(lines) == 10
    assert {"class", "ks_error", "ece"} <= set(head)
