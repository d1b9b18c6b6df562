"""Overview and Calibrators: what they say of the calibrators, and the tables beside it."""

import re
from html import unescape

import pytest

import calib
from calib.analysis import LiveAnalysis, method_results
from calib.blocks.methods import CHANGE_DRAWN
from calib.calibrators import CALIBRATORS
from calib.figures import answer
from calib.loading.examples import EXAMPLES
from calib.text import plain, significant
from calib.ui.controls import use_calibrator
from calib.ui.layout import words as page_words
from calib.ui.pages.calibrators import page
from calib.ui.session.session import Session
from calib.words.overview import why_shown
from calib.words.recommendations import RULE
from tests.pages.harness import (
    answers,
    copied,
    dropped,
    markup,
    model_of,
    rows,
    said,
    session_of,
    start,
    tables,
)
from tests.rare import rare


@pytest.fixture
def analysis() -> LiveAnalysis:
    """That of the first example, with all methods."""
    return model_of(Session()).analysis


def test_the_heading_says_how_many_methods_tie_with_the_recommended_one(analysis, texts):
    best = method_results.differences_from_best(analysis.held_out, analysis.ranked[0], 0.95)
    tied = [key for key, change in best.items() if change.low <= 0.0]
    assert analysis.recommendation.method in tied
    said = page.finding(analysis, best)
    assert f"of {len(tied)} tied methods." in said
    texts(said)


def test_the_advice_has_two_losses_that_differ_by_the_change(analysis, texts):
    advice = page.plain_advice(analysis)
    before, after, change = re.search(r"([\d.]+) → ([\d.]+), change −([\d.]+)", advice).groups()
    assert f"{float(before) - float(after):.4f}" == change
    texts(advice)


@pytest.mark.parametrize(
    ("example", "methods", "said"),
    [
        ("random_forest", (), "Recommended: Stack (of calibrators). Its"),
        ("digits", ("temperature",), "Recommended: Temperature. Its"),
    ],
)
@rare
def test_only_calibrators_of_one_score_have_a_number_of_parameters(example, methods, said):
    rows = EXAMPLES[example].load()
    settings = {"methods": methods} if methods else {}
    assert page.plain_advice(calib.analyze(rows, settings)).startswith(said)


def test_the_page_has_the_evidence_beside_the_values(analysis, texts):
    app = start("Calibrators")
    (advice,) = [each for each in app.markdown if each.value.startswith("Recommended")]
    assert advice.help.endswith(plain(RULE))
    table = markup(app, "Metrics")
    (marked,) = re.findall("<tr class=marked>.*?</tr>", table)
    assert ">Logistic (on log-odds)</button><div><small>recommended</small><button" in marked
    assert re.search(r"<td[^>]*>0\.3643<small>0\.3399 to 0\.3911</small></td>", marked)
    bar, change = r"<td[^>]*><svg.*?</svg>", r"−0\.1013<small>−0\.1309 to −0\.0753</small>"
    assert re.search(f"{bar}{change}<small>significantly lower<", marked)
    # Only an answer that is bad has a colour.
    assert "warned" not in marked
    texts.shown(table)
    assert "KS error" not in table + said(app)
    # A line per method can be read without a pointer.
    words = CALIBRATORS["platt"].words(matrix=False)
    explained = " ".join(each.proto.help for each in app.caption)
    assert "- **{}**: {}".format(*map(plain, words)) in explained


def test_columns_of_the_table_can_be_chosen(texts):
    app = start("Calibrators", m="platt")
    first = ["log_loss", "log_loss_change", "brier_score", "ece_quantile", "ks_error", "auc"]
    assert app.multiselect(key="columns").value == first
    uniform = start("Calibrators", m="platt", by="uniform")
    assert "ece_uniform" in uniform.multiselect(key="columns").value
    app.multiselect(key="columns").set_value(["slope", "mce", "ece_uniform"]).run()
    table = markup(app, "Metrics")
    assert ">Calibration slope<" in table
    assert ">Average gap\n(ECE, 15 uniform bins)<" in table
    texts.shown(said(app))
    assert "KS calibration error" not in table
    # Calibrators hardly change the ranking, so one sentence says the AUC of all.
    areas = [
        one.metrics["auc"].value for one in model_of(session_of(app)).analysis.methods.values()
    ]
    assert f"AUC (ranking): {min(areas):.3f}" in said(app)


def test_a_row_opens_its_formula_parameters_and_code(analysis):
    app = start("Calibrators")
    table = markup(app, "Metrics")
    opened = re.findall("<tr class=opened(?: hidden)?>.*?</tr>", table)
    assert len(opened) == len(analysis.methods)
    (first,) = [row for row in opened if "hidden" not in row]
    advised = analysis.recommendation.method
    assert f'calib.calibrator("{advised}")' in unescape(first)
    for key, row in zip(analysis.ranked, opened, strict=True):
        assert page_words.formula(analysis.methods[key]) in unescape(row)
        assert f"<dd>{page_words.parameter_count(analysis, key)}</dd>" in row
    epsilon = analysis.compact_logit.epsilon
    assert f'calib.calibrator("spline", epsilon={significant(epsilon)})' in unescape(table)
    fitted = calib.calibrator("spline", epsilon=epsilon).fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    assert fitted.predict([0.5]).shape == (1,)


def test_rows_are_sorted_by_exact_numbers_and_copied_with_printed_ones(analysis):
    (drawn,) = [data for data in tables(start("Calibrators")) if data["name"] == "metrics"]
    losses = {key: one.metrics["log_loss"].value for key, one in analysis.methods.items()}
    orders = re.findall(
        r'<tr(?: class=marked)?><th.*?</th><td data-order="([^"]*)"', drawn["markup"]
    )
    assert [*map(float, orders)] == [losses[key] for key in analysis.ranked]
    head, *lines = [line.split("\t") for line in drawn["text"].split("\n")]
    at = head.index("Error on held-out rows (log loss)")
    assert [line[at] for line in lines] == [f"{losses[key]:.4f}" for key in analysis.ranked]
    assert str(losses["platt"]) in drawn["exact"]
    markdown = drawn["markdown"].split("\n")
    assert len(markdown) == 2 + len(analysis.methods)
    assert all(line.startswith("| ") and line.endswith(" |") for line in markdown)
    assert f"{losses['platt']:.4f} (" in drawn["markdown"]


def test_what_a_column_draws_has_a_head(analysis):
    (drawn,) = [data for data in tables(start("Calibrators")) if data["name"] == "metrics"]
    heads = re.findall(r"<th scope=\"col\".*?</th>", drawn["markup"], re.DOTALL)
    (row,) = re.findall(r"<tr class=marked>.*?</tr>", drawn["markup"], re.DOTALL)
    cells = re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)
    with_head = [CHANGE_DRAWN in head for head in heads]
    assert with_head == ["<svg" in cell for cell in cells]
    assert sum(with_head) == 1


def test_a_button_is_no_advice_where_no_calibrator_is_recommended(texts):
    assert "use" not in {each.key for each in start(ex="ten_labels").button}
    assert start(m="platt").button(key="use").label == use_calibrator.GET_CODE
    few = start("Calibrators", ex="ten_labels")
    texts.shown(" ".join(each.value for each in few.info))


@pytest.mark.parametrize(
    ("n", "lead"), [(100, "No calibrator is recommended."), (400, "The recommendation is to keep")]
)
def test_a_calibrator_that_is_not_recommended_is_said_to_be_shown_and_why(n, lead, texts):
    analysis = model_of(dropped(rows(n), m="platt.beta")).analysis
    best, other = sorted(
        ("platt", "beta"), key=lambda key: analysis.methods[key].metrics["log_loss"].value
    )
    assert why_shown(analysis, best).startswith(lead)
    texts.shown(why_shown(analysis, best), "each case")
    texts.shown(why_shown(analysis, other), "each case, 2")


def test_an_answer_without_a_finding_says_both_means():
    analysis = calib.analyze(EXAMPLES["logistic"].load(), {"methods": ()})
    said = "Mean prediction is 37.3%, base rate 37.3%."
    assert said in answer.section(analysis, is_example=True)


def test_the_overview_has_one_line_for_each_check_with_its_marks():
    labels = [link.proto.label for link in start(ex="naive_bayes", m="platt").get("page_link")]
    lines = [label for label in labels if label.startswith("**")]
    names = [re.match(r"\*\*(.*?)\*\*", line)[1] for line in lines]
    assert names == ["Slices", "Time", "Bins", "Decisions", "Ranking"]
    assert all(len(re.findall(r":(?:\w+-badge|small)\[", line)) == 2 for line in lines)


@pytest.mark.parametrize("few", ["ten_rows", "five"])
def test_too_few_rows_offer_no_calibrator(few):
    five = "outcome,score\n0,0.1\n1,0.2\n0,0.3\n1,0.8\n1,0.9\n"
    app = start("Overview", five) if few == "five" else start(ex=few)
    (said,) = answers(app)
    assert "Not enough data" in said
    assert not [each for each in app.button if each.label == use_calibrator.GET_CODE]
    assert not copied(app, "calibrators")


def test_the_table_of_calibrators_has_all_of_them():
    table = copied(start(m="uncalibrated.platt.beta"), "calibrators")[0]
    expected = calib.analyze(EXAMPLES["naive_bayes"].load(), {"methods": ("platt", "beta")}).table()
    losses = sorted(expected.loc[["platt", "beta"], "log_loss"])
    assert table["log_loss"].astype(float).tolist() == losses
