"""The Functions page: every method at once, and the curves that are computed after it is drawn."""

import json

import pytest

from calib.calibrators import score_methods
from calib.crossfit.epsilon import EPSILONS, CrossFitFolds
from calib.loading.examples import EXAMPLES
from tests.pages.test_pages import go, said, start

ALL = ".".join(score_methods())


def chart(app, holding: str) -> dict[str, dict]:
    """Traces, by name, of the chart that holds one of this name; none if there is no such chart."""
    specs = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    found = [{trace.get("name"): trace for trace in spec["data"]} for spec in specs]
    return next((named for named in found if holding in named), {})


MAPS, LAMBDAS, LOSSES = "Identity", "Degrees of freedom", "Rows left unchanged"


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


def test_all_methods_at_once_have_a_line_words_and_a_summary():
    app = go(start(m=ALL, knots="1"), "functions")
    drawn, words = chart(app, MAPS), said(app).replace("\\", "")
    for key, method in score_methods().items():
        assert method.label in words
        assert method.summary in words
        assert key == "uncalibrated" or method.label in drawn
    assert drawn["Isotonic"]["yaxis"] == "y3"  # The last trace of that name has its knots.
    assert "Spline" in chart(app, LAMBDAS)
    assert "Spline" in chart(app, LOSSES)
    assert "multiplied by 1" not in words


def test_the_menu_is_sorted_by_simplicity():
    app = go(start(), "functions")
    options = app.multiselect(key="methods").options
    by_label = {method.name: method.simplicity for method in score_methods().values()}
    order = [by_label[label] for label in options]
    assert order == sorted(order)
    assert len(options) == len(score_methods()) - 1


def test_moving_epsilon_moves_the_marker_and_computes_no_point_anew(fits):
    app = go(start(ex=list(EXAMPLES)[-1], seed="41"), "functions")
    assert len(fits) == len(EPSILONS)
    before = chart(app, LOSSES)["Spline"]
    app.select_slider(key="epsilon").set_value(-1.5).run()
    assert not app.exception
    assert len(fits) == len(EPSILONS)
    assert chart(app, LOSSES)["Spline"]["marker"] != before["marker"]
    assert {"Spline, automatic ε", "Automatic ε"} <= chart(app, MAPS).keys()


def test_without_a_method_on_this_scale_there_is_no_curve_and_no_work(fits, texts):
    app = go(start(m="platt.isotonic"), "functions")
    texts.shown(said(app))
    assert not fits
    assert not chart(app, LAMBDAS)
    assert not chart(app, LOSSES)


def test_methods_of_the_curve_come_with_the_link(texts):
    app = go(start(m="spline.ispline"), "functions")
    assert "I-spline" not in chart(app, LOSSES)
    linked = go(start(m="spline.ispline", over="spline.ispline"), "functions")
    assert {"Spline", "I-spline"} <= chart(linked, LOSSES).keys()
    texts.shown(said(linked).replace("\\", ""))
