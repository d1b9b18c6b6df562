import json
import re
from dataclasses import replace

import numpy as np
import pytest

from calib.analysis.slices import Slicing, slice_gaps, slice_tests
from calib.data.predictions import Predictions
from calib.figures.periods import period_chart
from calib.figures.reliability import overlay_chart
from calib.figures.slices import slice_chart
from tests.figures.drawn import METHODS, curves, gaps, judged_slices, periods

HOSTILE = "<b>bold</b><a href='http://evil.test'>x</a>%{x}<img src=http://evil.test>"


def test_rows_are_gaps_with_their_intervals_in_the_order_of_their_values(analysis, trace):
    result, tests = gaps(analysis), judged_slices(analysis)
    chart = slice_chart(result, tests)
    axis = chart.figure.layout.yaxis
    (column,) = result["uncalibrated"].columns
    named = [(f"{column} {name}", flag) for name, flag in marked(tests)]
    bold = [f"<b>{name}</b>" if flag else name for name, flag in named]
    assert list(axis.ticktext) == bold
    assert axis.range[0] > axis.range[1]
    for key in METHODS:
        dots = trace(chart.figure, f"gaps {key}")
        for x, y, plus, minus, number in zip(
            dots.x,
            dots.y,
            dots.error_x.array,
            dots.error_x.arrayminus,
            dots.customdata,
            strict=True,
        ):
            i = round(y)
            slices = result[key]
            assert (x, number) == (slices.gap[i], slices.number[i])
            assert x + plus == pytest.approx(slices.high[i])
            assert x - minus == pytest.approx(slices.low[i])


def test_methods_are_named_in_the_forest_and_differences_are_in_points(analysis, trace):
    result = gaps(analysis)
    figure = slice_chart(result).figure
    notes = [note for note in figure.layout.annotations if note.xref != "paper"]
    named = {re.sub("<.*?>", "", note.text): note for note in notes}
    assert set(named) == {"Uncalibrated", "Beta"}
    # A name lies on none of the intervals.
    for note in named.values():
        assert figure.layout.xaxis.range[0] <= note.x <= figure.layout.xaxis.range[1]
        for key in METHODS:
            dots = trace(figure, f"gaps {key}")
            for x, y, plus, minus in zip(
                dots.x, dots.y, dots.error_x.array, dots.error_x.arrayminus, strict=True
            ):
                assert abs(y - note.y) > 0.1 or not x - minus < note.x < x + plus
    # Only the hollow markers of few rows are in the legend.
    assert [drawn.name for drawn in figure.data if drawn.showlegend] == ["&lt; 30 rows"]
    ticks = dict(zip(figure.layout.xaxis.tickvals, figure.layout.xaxis.ticktext, strict=True))
    assert ticks.pop(0.0) == "0"
    assert {value: f"{100 * value:+.0f}".replace("-", "−") for value in ticks} == ticks


def test_more_methods_than_can_be_named_have_a_legend(analysis):
    (table,) = (gaps(analysis)[key] for key in ("beta",))
    many = dict.fromkeys(("uncalibrated", "platt", "beta", "isotonic", "spline"), table)
    drawn = [line.name for line in slice_chart(many).figure.data if line.showlegend]
    assert drawn == [
        "Uncalibrated",
        "Platt scaling (on scores)",
        "Beta",
        "Isotonic",
        "Spline",
        "&lt; 30 rows",
    ]


def marked(tests):
    """Each slice, and whether it is miscalibrated with a method."""
    flags = np.any([table.significant() for table in tests.values()], axis=0)
    return list(zip(tests["uncalibrated"].names, flags, strict=True))


def test_few_rows_are_grey_and_hollow_and_miscalibrated_slices_are_shaded(analysis, trace):
    result, tests = gaps(analysis), judged_slices(analysis)
    figure = slice_chart(result, tests).figure
    few = trace(figure, "few uncalibrated")
    assert few.marker.symbol.endswith("-open")
    assert len(few.x) == 1
    assert "not tested" in few.hovertext[0]
    shaded = [drawn for drawn in figure.data if drawn.uid.startswith("marked")]
    rows = [i for i, (_, flag) in enumerate(marked(tests)) if flag]
    assert [(min(area.y), max(area.y)) for area in shaded] == [(i - 0.5, i + 0.5) for i in rows]
    assert 0 < len(rows) < len(result["uncalibrated"])


def test_many_slices_are_sorted_by_evidence():
    rng = np.random.default_rng(0)
    score = rng.random(4000)
    rows = Predictions.from_arrays(rng.random(4000) < score, score).view()
    many = Slicing(("a",), tuple(f"{i:02d}" for i in range(40)), rng.integers(0, 40, 4000))
    gaps_of_many = slice_gaps(rows, score, many)
    names = slice_chart({"uncalibrated": gaps_of_many}).figure.layout.yaxis.ticktext
    assert len(names) == 24
    assert [name.strip("</b>") for name in names] == [
        f"a {gaps_of_many.names[i]}" for i in gaps_of_many.order[:24]
    ]


def test_a_column_whose_name_does_not_fit_is_named_in_the_title(texts):
    rows = Predictions.from_arrays([0, 1] * 100, [0.3, 0.6] * 100).view()
    cut = Slicing(("column with a long name",), ("north", "south"), np.tile([0, 1], 100))
    table, tests = slice_gaps(rows, rows.score, cut), slice_tests(rows, rows.score, cut)
    chart = slice_chart({"uncalibrated": table}, {"uncalibrated": tests})
    names = chart.figure.layout.yaxis.ticktext
    assert [name.removeprefix("<b>").removesuffix("</b>") for name in names] == ["north", "south"]
    texts(chart.heading.title)
    assert chart.heading.details.startswith("200 rows · 2 slices · ")
    # Rows are shaded for every method, so the title says whose slices it counts.
    both = dict.fromkeys(("uncalibrated", "platt"))
    both = slice_chart(dict.fromkeys(both, table), dict.fromkeys(both, tests)).heading.title
    assert both == f"Uncalibrated. {chart.heading.title}"


def test_only_the_strongest_are_drawn_where_there_are_many(analysis, trace):
    result = gaps(analysis)
    figure = slice_chart(result, most=1).figure
    (name,) = figure.layout.yaxis.ticktext
    assert result["uncalibrated"].names[result["uncalibrated"].order[0]] in name


def test_overlay_draws_the_curves(analysis, trace, texts):
    drawn = curves(analysis)
    figure = overlay_chart(drawn).figure
    for i, curve in enumerate(drawn.values()):
        dots = trace(figure, f"dots slice {i}")
        np.testing.assert_array_equal(dots.x, curve.mean_score)
        np.testing.assert_array_equal(dots.y, curve.observed)
    few, many = (f(int(curve.rows.sum()) for curve in drawn.values()) for f in (min, max))
    details = overlay_chart(drawn).heading.details
    assert details.startswith(f"{few:,} to {many:,} rows each · ")
    assert details.endswith("95% intervals")
    styles = {trace(figure, f"legend slice {i}").marker.symbol for i in range(3)}
    assert len(styles) == 3
    with texts.raises(ValueError):
        overlay_chart({})


def test_periods_show_their_numbers_and_leave_gaps(analysis, trace):
    tables = periods(analysis)
    chart = period_chart(tables)
    table = tables["beta"]
    for what, name in (("slope", "slope beta"), ("ks", "ks beta"), ("mean_score", None)):
        drawn = trace(chart.figure, name or f"{what} beta")
        np.testing.assert_array_equal(drawn.y, getattr(table, what))
        assert list(drawn.x) == table.position.tolist()
    slope = trace(chart.figure, "slope beta")
    np.testing.assert_allclose(slope.error_y.array, table.slope_high - table.slope)
    observed = trace(chart.figure, "base_rate observed")
    np.testing.assert_array_equal(observed.y, table.base_rate)
    symbols = list(observed.marker.symbol)
    assert [symbol.endswith("-open") for symbol in symbols] == table.few.tolist()
    assert table.few.any()


def test_periods_with_evidence_are_shaded_in_the_panel_of_the_tests(analysis, texts):
    none = {k: replace(t, ks_p_adjusted=t.ks_p_value * 0 + 1) for k, t in periods(analysis).items()}
    assert "shaded" not in period_chart(none).heading.details
    found = replace(none["beta"], ks_p_adjusted=np.array([0.01, 0.01, 0.5, np.nan]))
    tables = none | {"beta": found}
    chart = period_chart(tables)
    texts.shown(chart.heading.details)
    (shaded,) = (t for t in chart.figure.data if t.fill == "toself")
    assert shaded.yaxis == "y4"
    np.testing.assert_allclose((min(shaded.x), max(shaded.x)), (-0.5, 1.5), atol=0.01)
    table = chart.frame()
    ends = table[table["series"] == "KS with p < 0.05 (Holm)"]["x"]
    assert ends.tolist() == ["2019", "2020"]


@pytest.mark.parametrize(
    "build",
    [
        lambda a: slice_chart(gaps(a, names=(HOSTILE, "x", "y"))),
        lambda a: overlay_chart(curves(a, names=(HOSTILE, "x", "y"))),
        lambda a: period_chart(periods(a, first=HOSTILE)),
    ],
)
def test_hostile_names_stay_text(analysis, build, texts):
    said = json.dumps(json.loads(build(analysis).figure.to_json()), ensure_ascii=False)
    for forbidden in ("<a ", "<img", "<b>bold", "%{x}<"):
        assert forbidden not in said
    texts.shown(said)


def test_alternative_text_says_how_many_slices_and_periods_stand_out(analysis):
    result, tests = gaps(analysis), judged_slices(analysis)
    n, judged = int(tests["uncalibrated"].significant().sum()), 2
    assert all(fact in slice_chart(result, tests).alt for fact in (str(n), str(judged)))
    tables = periods(analysis)
    n = int(tables["uncalibrated"].significant().sum())
    assert period_chart(tables).alt.startswith(f"{n} of ")
