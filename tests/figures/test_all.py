"""Properties of every figure."""

import base64
import dataclasses
import itertools
import json
import re
from functools import cache
from html import unescape
from xml.etree import ElementTree

import numpy as np
import plotly.io as pio
import pytest

from calib.analysis import analyze
from calib.calibrators import CALIBRATORS
from calib.crossfit.settings import DEFAULT_METHODS, Settings
from calib.data.predictions import Predictions
from calib.figures import CHARTS
from calib.figures.cumulative import cumulative_chart
from calib.figures.functions import STRATEGIES, compact_logit_chart
from calib.figures.reliability import STYLES
from calib.figures.svg import to_svg
from calib.figures.theme import (
    FRAME,
    LINE_WIDTH,
    METHOD_STYLES,
    NOW,
    OTHER_STYLE,
    OUTCOME,
    style_of,
)
from calib.text import significant
from tests.figures.drawn import ALL, BUILDERS, SAMPLES
from tests.rare import common_first

# These matrices for linear RGB are those of Machado, Oliveira, Fernandes 2009,
# doi:10.1109/TVCG.2009.113, severity 1.
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


# The alternative texts of the other charts have no verdict.
WITH_VERDICT = [
    f"{name}_chart 0"
    for name in ("reliability", "cumulative_difference", "functions", "before_after")
]
COLORS = [
    *(style.color for style in METHOD_STYLES.values()),
    *(style.color for style in STYLES),
    *(of.style.color for of in STRATEGIES.values()),
    FRAME,
    NOW,
    OUTCOME,
]
every_figure = pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)


@pytest.fixture(scope="module")
def chart_of(analysis):
    """Draws a figure, once for all tests: a chart does not change."""
    return cache(lambda build: build(analysis))


HOSTILE = "<b>bold</b><a href='http://evil.test'>x</a>%{x}<img src=http://evil.test>"


def test_every_registered_chart_is_drawn_here():
    """The tests of every figure then include a new chart."""
    assert SAMPLES.keys() == set(CHARTS)


@every_figure
def test_it_becomes_json_and_the_same_one_each_time(analysis, chart_of, build):
    written = chart_of(build).figure.to_json()
    assert json.loads(written)["data"]
    assert build(analysis).figure.to_json() == written


def rows_of(kind):
    """Outcomes, scores and test rows that leave charts little to draw."""
    rng = np.random.default_rng(5)
    third, score = np.arange(90) % 3 == 0, rng.random(90)
    return {
        "one score": (third, np.full(90, 0.3), None),
        "zeros and ones": (third, np.round(score), None),
        "ninety rows": (score < 0.4, score, None),
        "no positive test row but one": (third & (np.arange(90) < 62), score, np.arange(90) >= 60),
    }[kind]


@pytest.fixture(
    scope="module",
    params=common_first(
        ["one score", "zeros and ones", "ninety rows", "no positive test row but one"],
        ["one score"],
    ),
)
def scarce(request):
    outcome, score, test = rows_of(request.param)
    predictions = Predictions.from_arrays(outcome, score, test=test)
    return analyze(predictions, Settings(methods=ALL[1:]))


def numbers_in(value):
    """All numbers of a layout or a trace."""
    if isinstance(value, dict):
        return [n for part in value.values() for n in numbers_in(part)]
    if isinstance(value, list | tuple):
        return [n for part in value for n in numbers_in(part)]
    return [value] if isinstance(value, int | float) else []


@every_figure
def test_where_there_is_little_to_draw_axes_have_ends_and_words_have_numbers(scarce, build):
    chart = build(scarce)
    layout = chart.figure.to_plotly_json()["layout"]
    assert np.isfinite(numbers_in({k: v for k, v in layout.items() if k != "template"})).all()
    for name, value in layout.items():
        if name[1:5] == "axis" and "range" in value:
            assert value["range"][0] != value["range"][1]
    shown = [chart.alt, *(str(trace.name) for trace in chart.figure.data)]
    shown += [text for trace in chart.figure.data for text in trace.hovertext or ()]
    assert not any(re.search(r"\bnan\b|\binf\b|None", text) for text in shown)


@every_figure
def test_it_says_what_it_shows_in_sentences(chart_of, build):
    chart = chart_of(build)
    assert chart.alt.count(unescape(chart.heading.title)) == 1 or not chart.heading.title
    assert not chart.alt[0].islower()
    assert chart.alt.endswith(".")
    assert re.fullmatch(r"[\w-]+", chart.name)


@every_figure
def test_whatever_the_legend_names_has_a_name(chart_of, build):
    assert all(trace.name for trace in chart_of(build).figure.data if trace.showlegend)


@every_figure
def test_every_colour_is_one_of_the_palette(chart_of, build):
    palette = {_rgb(color) for color in COLORS}
    for trace in chart_of(build).figure.data:
        drawn = trace.to_plotly_json()
        looks = [drawn, drawn.get("marker", {}), drawn.get("line", {}), drawn.get("error_y", {})]
        drawn_colors = [
            look[name] for look in looks for name in ("color", "fillcolor") if name in look
        ]
        assert {_rgb(color) for color in drawn_colors} <= palette


def _rgb(color):
    """Red, green and blue of "#RRGGBB" or "rgba(...)"."""
    if color.startswith("#"):
        return tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))
    return tuple(map(int, re.findall(r"\d+", color)[:3]))


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
def test_the_unchecked_figure_is_the_checked_one(chart_of, build):
    chart = chart_of(build)
    sent = json.loads(pio.to_json(chart.unchecked.to_dict(), validate=False))
    assert unpacked(sent) == unpacked(json.loads(chart.figure.to_json()))


@every_figure
def test_nothing_has_to_be_measured_by_the_browser(chart_of, build):
    layout = json.loads(chart_of(build).figure.to_json())["layout"]
    assert layout["margin"]["autoexpand"] is False
    axes = [value for name, value in layout.items() if name[1:5] == "axis"]
    assert axes
    for axis in axes:
        assert axis["automargin"] is False
        assert "range" in axis or axis["rangemode"] == "tozero"


@every_figure
def test_no_colour_is_fixed_that_a_dark_page_must_change(chart_of, build):
    layout = json.loads(chart_of(build).figure.to_json())["layout"]
    del layout["template"]
    assert not {"paper_bgcolor", "plot_bgcolor", "font", "title"} & layout.keys()
    fonts = [note.get("font", {}) for note in layout.get("annotations", [])]
    assert not any("color" in font for font in [*fonts, layout["legend"]["font"]])


@every_figure
def test_layers_are_plain_with_names_of_their_own(chart_of, build):
    data = chart_of(build).figure.data
    assert {trace.type for trace in data} <= {"scatter", "bar"}
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
    WITH_VERDICT,
)
def test_alternative_text_states_the_verdict_and_every_method(analysis, name):
    alt = BUILDERS[name](analysis).alt
    assert analysis.verdict.sentence in alt
    assert f"{analysis.methods['platt'].ks.statistic:.1%}" in alt


def test_alternative_text_of_the_others_states_what_they_show(analysis):
    assert analysis.verdict.sentence in cumulative_chart(analysis).alt
    assert (
        f"{analysis.methods['platt'].ks.statistic:.1%}"
        in BUILDERS["cumulative_chart 0"](analysis).alt
    )
    assert significant(analysis.compact_logit.epsilon, 2) in compact_logit_chart(analysis).alt


@every_figure
def test_a_chart_is_drawn_as_svg(chart_of, build):
    chart = chart_of(build)
    drawn = ElementTree.fromstring(to_svg(chart))
    assert drawn.get("aria-label") == chart.alt
    text = " ".join(
        element.text or "" for element in drawn.iter("{http://www.w3.org/2000/svg}text")
    )
    for layer in chart.layers:
        if layer.legend:
            assert unescape(layer.label) in text
    # The content policy of a page would refuse a style attribute.
    assert not any(element.get("style") for element in drawn.iter())
    assert "nan" not in "".join(element.get("d") or "" for element in drawn.iter())


def test_every_method_has_a_colour_a_dash_and_a_marker_of_its_own():
    styles = [*METHOD_STYLES.values(), OTHER_STYLE]
    assert len({(s.color, s.dash, s.symbol) for s in styles}) == len(styles)
    assert len({s.color for s in styles}) == len(styles)
    assert len({s.symbol for s in styles}) == len(styles)
    assert METHOD_STYLES.keys() <= set(CALIBRATORS)
    assert set(DEFAULT_METHODS) <= METHOD_STYLES.keys()
    assert style_of("made up") is OTHER_STYLE


@pytest.mark.parametrize("recommended", ["", "uncalibrated", "platt", "isotonic", "made up"])
def test_the_recommended_method_is_strong_and_all_keep_their_look(recommended):
    styles = {key: style_of(key, recommended) for key in {*METHOD_STYLES, recommended or "platt"}}
    strong = [key for key, style in styles.items() if style.width > LINE_WIDTH]
    assert strong == [recommended] * (recommended not in ("", "uncalibrated"))
    for key, style in METHOD_STYLES.items():
        look = styles[key]
        assert (look.color, look.dash, look.symbol) == (style.color, style.dash, style.symbol)
    assert len({style.color for style in styles.values()}) == len(styles)


def test_no_two_methods_have_colours_that_are_hard_to_tell_apart():
    colors = {key: _lab(style.color) for key, style in METHOD_STYLES.items()}
    for one, other in itertools.combinations(colors, 2):
        # A difference of 2.3 in CIE 1976 is just noticeable.
        assert np.linalg.norm(colors[one] - colors[other]) > 10.0, (one, other)


@pytest.mark.parametrize("background", [(255, 255, 255), (20, 24, 29)])
def test_the_default_methods_can_be_seen_on_light_and_dark(background):
    # WCAG asks for a contrast of 3 to 1 for graphics.
    for key in DEFAULT_METHODS:
        assert _contrast(METHOD_STYLES[key].color, background) >= 3.0, key


@pytest.mark.parametrize("background", [(255, 255, 255), (20, 24, 29)])
@pytest.mark.parametrize(
    "name", ["reliability_chart 0", "cumulative_difference_chart 0", "sensitivity_chart 0"]
)
def test_the_edge_of_the_range_of_calibrated_scores_can_be_seen(analysis, name, background):
    (band,) = [
        trace
        for trace in BUILDERS[name](analysis).figure.data
        if trace.fill == "toself" and _rgb(trace.fillcolor) == (127, 127, 127)
    ]
    assert band.line.width >= 1
    assert _contrast(band.line.color, background) >= 3.0


@pytest.mark.parametrize("cones", DICHROMATS)
def test_logistic_is_told_from_the_other_default_methods_by_colour_blind_readers(cones):
    seen = {key: _lab(METHOD_STYLES[key].color, DICHROMATS[cones]) for key in DEFAULT_METHODS}
    logistic = seen.pop("logistic")
    assert min(np.linalg.norm(logistic - other) for other in seen.values()) > 25.0


@pytest.mark.parametrize("cones", DICHROMATS)
def test_isotonic_and_spline_are_as_far_apart_as_their_originals(cones):
    """Darker than Okabe and Ito's orange and vermilion, and no harder to tell apart."""
    ours, theirs = (
        [_lab(color, DICHROMATS[cones]) for color in pair]
        for pair in (
            (METHOD_STYLES["isotonic"].color, METHOD_STYLES["spline"].color),
            ("#E69F00", "#D55E00"),
        )
    )
    assert np.linalg.norm(ours[0] - ours[1]) > 0.9 * np.linalg.norm(theirs[0] - theirs[1])


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


@pytest.mark.parametrize("name", BUILDERS)
def test_no_chart_calls_platt_scaling_by_the_name_of_its_author_alone(analysis, name):
    chart = BUILDERS[name](analysis)
    assert not re.search(
        r"\bPlatt\b(?! scaling)", json.dumps(chart.figure.to_plotly_json(), default=str)
    )
    assert not re.search(r"\bPlatt\b(?! scaling)", chart.alt)
