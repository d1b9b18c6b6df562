"""What holds for every figure."""

import base64
import dataclasses
import itertools
import json

import numpy as np
import plotly.io as pio
import pytest

from calib import figures
from calib.calibrators import CALIBRATORS
from calib.crossfit.epsilon import EPSILONS, EpsilonCurve
from calib.curves.corp import corp_curve
from calib.curves.functions import LambdaPath
from calib.curves.sensitivity import ece_sensitivity
from calib.curves.smooth import smooth_curve
from calib.figures.theme import METHOD_STYLES, OTHER_STYLE, style_of
from calib.settings import DEFAULT_METHODS
from tests.figures import drawn

ALL = ("uncalibrated", "platt", "isotonic", "beta")
# Machado, Oliveira, Fernandes 2009, doi:10.1109/TVCG.2009.113, severity 1: on linear RGB.
DICHROMATS = {
    "without red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "without green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "without blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def with_spline(analysis):
    """The analysis with a lambda path, made up, of a method "spline"."""
    beta = analysis.methods["beta"]
    path = LambdaPath(np.array([1.0, 0.1]), np.array([0.6, 0.5]), np.array([2.0, 3.5]), 1)
    spline = dataclasses.replace(
        beta, key="spline", function=dataclasses.replace(beta.function, path=path)
    )
    return dataclasses.replace(analysis, methods={**analysis.methods, "spline": spline})


def over_epsilon():
    grid = np.array(EPSILONS)
    return EpsilonCurve("spline", grid, 0.5 + grid, np.arange(len(grid), dtype=float))


def lines_of(analysis):
    cells = analysis.held_out.cells["uncalibrated"]
    return corp_curve(cells, n_replicates=20), smooth_curve(cells)


def sensitivity_of(analysis, key):
    held_out = analysis.held_out
    return ece_sensitivity(held_out.cells[key], held_out.replicates[key])


BUILDERS = {
    "reliability": lambda a: figures.reliability_chart(a, ALL),
    "reliability, lines": lambda a: figures.reliability_chart(a, ALL, lines=lines_of(a)),
    "sensitivity": lambda a: figures.sensitivity_chart(a, sensitivity_of(a, "platt"), "platt"),
    "reliability, logit": lambda a: figures.reliability_chart(a, ALL, axis="logit"),
    "cumulative": lambda a: figures.cumulative_chart(a, "platt"),
    "cumulative, one panel": lambda a: figures.cumulative_chart(a, "platt", panels=(3,)),
    "cumulative difference": lambda a: figures.cumulative_difference_chart(a, ALL),
    "functions": lambda a: figures.functions_chart(a, ALL, highlight_knots=True),
    "compact logit": figures.compact_logit_chart,
    "before and after": lambda a: figures.before_after_chart(a, ALL),
    "before and after, one panel": lambda a: figures.before_after_panel(a, "platt"),
    "differences": figures.difference_chart,
    "lambda path": lambda a: figures.lambda_path_chart(with_spline(a), "spline"),
    "epsilon": lambda a: figures.epsilon_chart(with_spline(a), [over_epsilon()]),
    **drawn.BUILDERS,
}
NO_VERDICT = {
    "compact logit",
    "differences",
    "cumulative",
    "cumulative, one panel",
    "before and after, one panel",
    "lambda path",
    "epsilon",
    "sensitivity",
}
every_figure = pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)

HOSTILE = "<b>bold</b><a href='http://evil.test'>x</a>%{x}<img src=http://evil.test>"


@every_figure
def test_it_becomes_json_and_the_same_one_each_time(analysis, build):
    written = build(analysis).figure.to_json()
    assert json.loads(written)["data"]
    assert build(analysis).figure.to_json() == written


def unpacked(value):
    """A figure's JSON with numbers for bytes, and without what is null."""
    if isinstance(value, list):
        return [unpacked(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "bdata" in value:
        return np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"]).tolist()
    return {name: unpacked(part) for name, part in value.items() if part is not None}


@every_figure
def test_the_unchecked_figure_is_the_checked_one(analysis, build):
    chart = build(analysis)
    sent = json.loads(pio.to_json(chart.unchecked.to_dict(), validate=False))
    assert unpacked(sent) == unpacked(json.loads(chart.figure.to_json()))


@every_figure
def test_nothing_has_to_be_measured_by_the_browser(analysis, build):
    layout = json.loads(build(analysis).figure.to_json())["layout"]
    assert layout["margin"]["autoexpand"] is False
    axes = [value for name, value in layout.items() if name[1:5] == "axis"]
    assert axes
    for axis in axes:
        assert axis["automargin"] is False
        assert "range" in axis or axis["rangemode"] == "tozero"


@every_figure
def test_no_colour_is_fixed_that_a_dark_page_must_change(analysis, build):
    layout = json.loads(build(analysis).figure.to_json())["layout"]
    del layout["template"]
    assert not {"paper_bgcolor", "plot_bgcolor", "font", "title"} & layout.keys()
    fonts = [note.get("font", {}) for note in layout.get("annotations", [])]
    assert not any("color" in font for font in [*fonts, layout["legend"]["font"]])


@every_figure
def test_traces_are_plain_scatters_with_names_of_their_own(analysis, build):
    data = build(analysis).figure.data
    assert {trace.type for trace in data} == {"scatter"}
    uids = [trace.uid for trace in data]
    assert all(uids)
    assert len(set(uids)) == len(uids)


@every_figure
def test_hostile_labels_stay_text(analysis, build):
    methods = {k: dataclasses.replace(r, label=HOSTILE) for k, r in analysis.methods.items()}
    names = dict.fromkeys(("name", "score_name", "outcome_name", "positive_name"), HOSTILE)
    hostile = dataclasses.replace(
        analysis, methods=methods, data=dataclasses.replace(analysis.data, **names)
    )
    written = json.loads(build(hostile).figure.to_json())
    said = json.dumps(written, ensure_ascii=False)
    assert "<a " not in said
    assert "<img" not in said
    assert "%{x}<" not in said
    assert "%{x}&lt;" not in said


@pytest.mark.parametrize(
    "name",
    [name for name in BUILDERS if name not in NO_VERDICT and name not in drawn.BUILDERS],
)
def test_alternative_text_states_the_verdict_and_every_method(analysis, name):
    alt = BUILDERS[name](analysis).alt
    assert analysis.verdict.sentence in alt
    assert f"After Platt: KS {analysis.methods['platt'].ks.statistic:.3f}" in alt


def test_alternative_text_of_the_others_states_what_they_show(analysis):
    assert analysis.verdict.sentence in figures.cumulative_chart(analysis).alt
    assert f"{analysis.methods['platt'].ks.statistic:.3f}" in BUILDERS["cumulative"](analysis).alt
    assert analysis.recommendation.sentence in figures.difference_chart(analysis).alt
    assert f"{analysis.compact_logit.epsilon:.2g}" in figures.compact_logit_chart(analysis).alt


@every_figure
def test_report_copy_follows_the_page_and_leaves_the_chart_alone(analysis, build):
    chart = build(analysis)
    copy = figures.for_report(chart)
    assert copy.layout.width is None
    assert chart.figure.layout.width == chart.width
    assert copy.layout.height == chart.height
    assert copy.layout.template.layout.paper_bgcolor == "rgba(0, 0, 0, 0)"


def test_every_method_has_a_colour_a_dash_and_a_marker_of_its_own():
    styles = [*METHOD_STYLES.values(), OTHER_STYLE]
    assert len({(s.color, s.dash, s.symbol) for s in styles}) == len(styles)
    assert len({s.color for s in styles}) == len(styles)
    assert len({s.symbol for s in styles}) == len(styles)
    assert set(CALIBRATORS) <= METHOD_STYLES.keys()
    assert style_of("made up") is OTHER_STYLE


def test_no_two_methods_have_colours_that_are_hard_to_tell_apart():
    colors = {key: _lab(style.color) for key, style in METHOD_STYLES.items()}
    for one, other in itertools.combinations(colors, 2):
        # CIE 1976, in which 2.3 is just noticed.
        assert np.linalg.norm(colors[one] - colors[other]) > 10.0, (one, other)


@pytest.mark.parametrize("background", [(255, 255, 255), (20, 24, 29)])
def test_the_default_methods_can_be_seen_on_light_and_dark(background):
    # WCAG asks 3 to 1 of graphics; isotonic's orange has 2.2 on white and is Okabe and Ito's own.
    for key in set(DEFAULT_METHODS) - {"isotonic"}:
        assert _contrast(METHOD_STYLES[key].color, background) >= 3.0, key
    assert _contrast(METHOD_STYLES["isotonic"].color, background) >= 2.0


@pytest.mark.parametrize("cones", DICHROMATS)
def test_logistic_is_told_from_the_other_default_methods_by_colour_blind_readers(cones):
    seen = {key: _lab(METHOD_STYLES[key].color, DICHROMATS[cones]) for key in DEFAULT_METHODS}
    logistic = seen.pop("logistic")
    assert min(np.linalg.norm(logistic - other) for other in seen.values()) > 25.0


def _contrast(color, background):
    rgb = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    one, two = sorted([_luminance(rgb), _luminance(background)])
    return (two + 0.05) / (one + 0.05)


def _linear(rgb):
    share = np.asarray(rgb) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def _luminance(rgb):
    return float(_linear(rgb) @ [0.2126, 0.7152, 0.0722])


def _lab(color, seen=((1, 0, 0), (0, 1, 0), (0, 0, 1))):
    """CIE L*a*b* of a colour under D65, as eyes see it that change linear RGB by a matrix."""
    linear = np.clip(seen @ _linear([int(color[i : i + 2], 16) for i in (1, 3, 5)]), 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.asarray(to_xyz) @ linear / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
