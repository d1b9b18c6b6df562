"""Curves of calibrators, with a row each, and the study of epsilon, which waits to be opened."""

import json

import pytest

from calib.calibrators import score_methods
from calib.crossfit.epsilon import EPSILONS, CrossFitFolds
from calib.loading.examples import EXAMPLES
from tests.pages.harness import markup, model_of, opened, press, session_of, start, traces
from tests.rare import rare


def chart(app, holding: str) -> dict[str, dict]:
    """Traces, by name, of the chart that holds one of this name; none if there is no such chart."""
    specs = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    found = [{trace.get("name"): trace for trace in spec["data"]} for spec in specs]
    return next((named for named in found if holding in named), {})


LOSSES = "Rows left unchanged"


@pytest.fixture
def fits(monkeypatch) -> list[float]:
    """Epsilons at which losses were computed."""
    computed = []
    plain = CrossFitFolds.log_loss

    def counted(self, key, epsilon, progress):
        computed.append(epsilon)
        return plain(self, key, epsilon, progress)

    monkeypatch.setattr(CrossFitFolds, "log_loss", counted)
    return computed


def test_nothing_about_splines_is_computed_until_it_is_opened(fits):
    app = start("Calibrators", m="platt.spline")
    assert [one for one in app.select_slider if one.key == "epsilon"]
    # Without a method on this scale there is no epsilon.
    without = start("Calibrators", m="platt", eps="0.01")
    assert not [one for one in without.select_slider if one.key == "epsilon"]
    for each in (app, without):
        assert traces(each, "chart_adjustments")
        assert not chart(each, LOSSES)
    assert not fits
    opened(app, "epsilon_effect")
    assert chart(app, LOSSES)
    assert len(fits) == len(EPSILONS)


def test_fixing_epsilon_keeps_its_value_and_the_first_stop_is_automatic():
    app = start("Calibrators", m="spline")
    rule = model_of(session_of(app)).analysis.compact_logit.rule
    slider = app.select_slider(key="epsilon")
    assert slider.value == slider.options[0] == "automatic"
    press(app, "fix_epsilon")
    assert session_of(app).settings.epsilon == rule
    assert model_of(session_of(app)).analysis.compact_logit.epsilon == rule
    app.select_slider(key="epsilon").set_value("automatic").run()
    assert session_of(app).settings.epsilon is None


@rare
def test_all_methods_at_once_have_a_line_words_and_a_summary():
    app = start("Calibrators", m=".".join(score_methods()), knots="1", eps="0.001")
    drawn, words = traces(app, "chart_adjustments"), markup(app, "Metrics")
    for key, method in score_methods().items():
        assert method.label in words
        assert key == "uncalibrated" or method.label in drawn
    assert drawn["Isotonic"]["yaxis"] == "y3"  # The last trace of that name has its knots.
    assert "Spline" in chart(app, LOSSES)
    assert "multiplied by 1" not in words
    options = app.multiselect(key="methods").options
    by_label = {method.label: method.simplicity for method in score_methods().values()}
    order = [by_label[label] for label in options]
    assert order == sorted(order)
    assert len(options) == len(score_methods()) - 1


@rare
def test_moving_epsilon_moves_the_marker_and_computes_no_point_anew(fits):
    app = start("Calibrators", ex=list(EXAMPLES)[-1], seed="41", eps="0.01")
    assert len(fits) == len(EPSILONS)
    before = chart(app, LOSSES)["Spline"]
    app.select_slider(key="epsilon").set_value(-1.5).run()
    assert not app.exception
    assert len(fits) == len(EPSILONS)
    assert chart(app, LOSSES)["Spline"]["marker"] != before["marker"]
    assert {"Spline, automatic ε", "Automatic ε"} <= traces(app, "chart_adjustments").keys()


@rare
def test_methods_of_the_curve_come_with_the_link():
    app = start("Calibrators", m="spline.ispline", eps="0.01")
    assert "I-spline" not in chart(app, LOSSES)
    linked = start("Calibrators", m="spline.ispline", over="spline.ispline")
    assert {"Spline", "I-spline"} <= chart(linked, LOSSES).keys()
    assert ">I-spline<" in markup(linked, "Metrics")
