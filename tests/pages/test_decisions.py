"""Decisions: the threshold, what it costs, the positives it expects, and what is certified."""

import io
import re

import numpy as np
import pandas as pd
import pytest

from calib.analysis.decisions import certify
from calib.loading.examples import EXAMPLES
from calib.ui.pages.decisions import take_cost
from calib.ui.session import results
from calib.ui.session.choices import COST_FN, VIEW
from calib.ui.session.session import Session
from tests.pages.harness import (
    address,
    copied,
    dropped,
    go,
    headings,
    metric_tables,
    model_of,
    opened,
    said,
    sent,
    sited,
    start,
    traces,
    unpacked,
)
from tests.rare import rare


def live(app) -> dict:
    """What the browser draws, so that it follows a hand."""
    (data,) = [each for each in sent(app) if isinstance(each, dict) and "ratios" in each]
    return data


def answer(app) -> str:
    (made,) = [e.proto.body for e in app.get("html") if "class=lead" in e.proto.body]
    return made


def html_table(app, column: str) -> pd.DataFrame:
    (made,) = [body for body in metric_tables(app) if f">{column}</th>" in body]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in made.split("<tr")[1:]]
    return pd.DataFrame(rows[1:], columns=rows[0])


@pytest.mark.parametrize(
    ("named", "threshold"), [({}, 1 / 2), ({"fp": "1", "fn": "4"}, 1 / 5), ({"cap": "0.25"}, None)]
)
def test_the_rule_is_applied_and_its_counts_add_up(named, threshold):
    app = start("Decisions", m="platt", **named)
    assert ("25%" in answer(app)) == (threshold is None)
    if threshold is not None:
        drawn = live(app)
        assert drawn["thresholds"][drawn["stop"]] == threshold
        assert f"{threshold:.0%}" in answer(app)
    made = html_table(app, "True positives").set_index("Method")
    kinds = [f"{sign} {kind}" for sign in ("True", "False") for kind in ("positives", "negatives")]
    counts = made.loc["Uncalibrated", kinds].astype(float)
    assert counts.sum() == pytest.approx(1797, abs=0.5)
    assert ("Lowest cost on these rows" in made) == ("cap" not in named)


@pytest.mark.parametrize("named", [{}, {"cap": "0.1"}])
@rare
def test_only_what_the_cost_chart_draws_is_explained(named, texts):
    app = start("Decisions", m="isotonic", **named)
    app = opened(app, "static_decisions") if not named else app
    drawn = app.get("plotly_chart")[1].proto.spec
    assert ("chosen in hindsight" in said(app)) == ("lowest cost on these rows" in drawn)
    assert ("as the capacity allows" in said(app)) == ("capacity reached" in drawn)
    texts.shown(said(app), "each case")


def test_the_answer_says_first_what_is_wrong_of_a_thousand_decisions(texts):
    app = start("Decisions", m="logistic")
    head, lead = answer(app).split("<h2>")[1].split("</h2><p class=lead>")
    texts(head)
    texts.shown(lead.split("</p>")[0], "words")
    # The chart draws the same numbers, and the controls stand between the two.
    drawn, (before, after) = live(app), re.search(r"(\d+) of .* and (\d+) after", head).groups()
    costs = [method["printed"]["cost"][drawn["stop"]] for method in drawn["methods"]]
    assert costs == [before, after]
    assert drawn["judged"] == ["too many", ""]
    # The dots of the cost chart are explained beside them, where the chart is folded away.
    assert "Dots of the cost chart" not in said(app)


def test_where_a_method_falls_below_flagging_all_or_none_is_said(texts):
    app = opened(start("Decisions", m="isotonic"), "static_decisions")
    curves = {name: unpacked(trace["y"]) for name, trace in traces(app, "chart_benefit").items()}
    thresholds = np.linspace(0, 1, 201)[:-1]
    above = thresholds[(curves["Uncalibrated"] < -1e-9) & (curves["Flag all"] <= 0)]
    # The tested thresholds are 0.5% apart.
    last = 100 * above[0] - 0.5
    useful = live(app)["useful"]
    texts.shown(useful)
    assert f" to {last:g}%" in useful
    blind = np.maximum(curves["Flag all"], 0)
    assert ((blind - curves["Isotonic"]) > 1e-9).any()
    texts.shown(useful)
    # The static chart says it in the same words.
    assert app.get("plotly_chart")[0].proto.alt.startswith(useful)


def test_observed_and_expected_positives_of_the_bands_add_up():
    app = start("Decisions", m="platt")
    bands = html_table(app, "Uncalibrated score").set_index("Uncalibrated score")
    counts = bands[["Rows", "Observed", "Uncalibrated expects"]].replace(",", "", regex=True)
    counts = counts.astype(float)
    assert counts.loc["All rows", "Rows"] == 1797
    sums = counts.iloc[:10].sum()
    assert np.allclose(sums, counts.loc["All rows"], atol=0.5)
    upper = counts.loc[[f"{low}% to {low + 10}%" for low in range(50, 100, 10)]].sum()
    assert np.allclose(upper, counts.loc["Chosen: 50% to 100%"], atol=0.5)
    app.slider(key="count_range").set_value((0.9, 1.0)).run()
    counts = html_table(app, "Observed")
    chosen = counts[counts["Uncalibrated score"].str.contains("Chosen: 90% to 100%")]
    assert chosen["Observed"].tolist() == ["566"]
    assert address(app)["from"] == "0.9"


def test_a_hand_changes_the_costs_of_all_pages_and_nonsense_does_not():
    session = Session()
    for sent_, cost in [({"cost_fn": 8.0}, 8.0), ({"cost_fn": -1}, 8.0), ({"cost_fn": "x"}, 8.0)]:
        take_cost(session, {"sent": sent_})
        assert session[COST_FN] == cost
    take_cost(session, {"sent": None})
    assert session[COST_FN] == 8.0


def test_costs_and_capacity_are_controls(texts):
    app = start("Decisions", m="platt")
    app.number_input(key="cost_fn").set_value(9.0).run()
    texts.shown(answer(app), "words")
    app.segmented_control(key="decide_by").set_value("Capacity").run()
    assert address(app)["cap"] == "0.1"
    app.number_input(key="capacity").set_value(20.0).run()
    assert address(app)["cap"] == "0.2"
    texts.shown(headings(opened(app, "rates_by_slice")))
    go(app, "Slices")
    assert go(app, "Decisions").number_input(key="capacity").value == 20.0
    app.segmented_control(key="decide_by").set_value("Costs").run()
    assert "cap" not in app.query_params


@pytest.mark.parametrize(("cost", "bright"), [("1", False), ("3", True)])
def test_the_button_stands_out_only_if_calibration_changes_the_decisions(cost, bright, texts):
    button = start("Decisions", m="logistic", fn=cost).button(key="use")
    texts(button.label, "each case")
    assert button.proto.type == ("primary" if bright else "secondary")


def certificate(app) -> str:
    """The sentence of the certificate, which is a lead below its heading."""
    said_in_order = [each.value for each in app.markdown]
    heading = next(text for text in said_in_order if "automatically" in text)
    lead = said_in_order[said_in_order.index(heading) + 1]
    return re.sub(r"\\(.)", r"\1", lead.removeprefix("**").removesuffix("**"))


def test_the_page_says_what_the_library_certifies():
    app = start("Decisions", m="platt", err="0.1")
    expected = certify(EXAMPLES["naive_bayes"].load(), 0.1, sides="both")
    assert certificate(app) == expected.sentence
    assert expected.tested_on in said(app)
    (table,) = [body for body in metric_tables(app) if ">Bound (97.5%)</th>" in body]
    for side in expected.sides:
        assert f"{side.n_errors} of {side.n_rows} (" in table


def test_the_controls_of_the_certificate_are_in_the_link(texts):
    app = start("Decisions", m="platt")
    texts.shown(said(app))
    app.number_input(key="max_error").set_value(20.0).run()
    app.selectbox(key="certainty").set_value(0.9).run()
    app.segmented_control(key="sides").set_value("above").run()
    wanted = {"err": "0.2", "sure": "0.9", "sides": "above"}
    assert wanted.items() <= address(app).items()
    expected = certify(EXAMPLES["naive_bayes"].load(), 0.2, 0.9).sentence
    assert certificate(app) == expected
    assert certificate(start("Decisions", m="platt", **wanted)) == expected


def frame(n: int = 600, **columns) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    score = rng.random(n).round(6)
    outcome = (rng.random(n) < score).astype(int)
    return pd.DataFrame({"outcome": outcome, "score": score, **columns})


def test_answers_are_accepted_only():
    """A confidence says that an answer is right; a low one does not say that it is wrong."""
    answered = frame().rename(columns={"outcome": "correct", "score": "confidence"})
    for data, sides in ((answered, "above"), (frame(), "both")):
        session = dropped(data, m="platt")
        assert results.error_limit(session, model_of(session)).sides == sides
    # The top label of a matrix is an answer, too.
    session.change(VIEW, "top:1")
    assert results.error_limit(session, model_of(dropped(frame(), m="platt"))).sides == "above"


def test_few_rows_say_how_many_are_needed(texts):
    app = start("Decisions", frame(60), m="platt")
    texts(certificate(app))


@rare
def test_unequal_weights_are_refused_in_words(texts):
    session = dropped(frame(weight=np.linspace(1, 2, 600)), m="platt")
    session.take(session.upload.mapped(session.upload.mapping.chosen(weight="weight")))
    texts.shown(said(start("Decisions", session)))


def test_compas_error_rates_by_race(shared):
    data = (shared / "data/corp/BROWARD_CLEAN.csv").read_bytes()
    session = dropped(data, m="platt", slice="race")
    # The file also says whether COMPAS was right, which is another outcome of two labels.
    named = {"outcome": "two_year_recid", "score": "compas_decile_score"}
    session.take(session.upload.mapped(session.upload.mapping.chosen(**named)))
    (mapping,) = (
        problem.repair.changed(session.upload.mapping)
        for problem in session.upload.problems
        if problem.code == "ratings"
    )
    session.take(session.upload.mapped(session.upload.mapping.chosen(**mapping)))
    app = opened(start("Decisions", session), "rates_by_slice")
    rates = copied(app, "error-rates")[0]
    people = pd.read_csv(io.BytesIO(data))
    documented = {"All rows": (32.35, 37.40), "race 2": (44.85, 27.99), "race 1": (23.45, 47.72)}
    for name, published in documented.items():
        of = people if name == "All rows" else people[people["race"] == int(name[-1])]
        flagged = (of["compas_decile_score"] >= 5).groupby(of["two_year_recid"]).mean()
        (row,) = rates[rates["Slice"].str.startswith(f"{name} ")].to_dict("records")
        for kind, exact, printed in zip(
            ("positive", "negative"), (flagged[0], 1.0 - flagged[1]), published, strict=True
        ):
            assert f"{100 * exact:.2f}" == f"{printed:.2f}"
            assert row[f"False-{kind} rate"].startswith(f"{exact:.1%}")
    # The false-negative rates of race 6 and race 2 are farther apart than those of race 1 and 2.
    missed = people[people["two_year_recid"] == 1].groupby("race")["compas_decile_score"]
    highest, lowest = (f"{(missed.get_group(race) < 5).mean():.1%}" for race in (6, 2))
    sentence = f"Largest difference: false-negative rate {highest} for race 6, {lowest} "
    assert sentence in said(app)


def test_error_rates_of_slices_are_counted_when_they_are_opened(texts):
    app = start("Decisions", sited(), m="platt", fn="4")
    before = headings(app)
    app = opened(app, "rates_by_slice")
    (heading,) = set(headings(app)).difference(before)
    texts(heading)
    assert app.selectbox(key="slice_by").value == "site"
    assert len(copied(app, "error-rates")[0]) == 1 + 3
    without = start("Decisions", sited().drop(columns="site"), m="platt")
    folded = {expander.label for expander in app.expander}
    assert len(folded - {expander.label for expander in without.expander}) == 1
