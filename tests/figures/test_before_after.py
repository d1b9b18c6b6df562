import numpy as np

from calib.figures.summary import before_after_chart, before_after_panel
from calib.words.measures import evidence, without_band
from tests.figures.conftest import overconfident


def test_one_panel_a_method_each_with_its_own_dots_and_band(analysis, trace):
    figure = before_after_chart(analysis, tuple(analysis.methods)).figure
    for panel, (key, result) in enumerate(analysis.methods.items()):
        axis = f"x{panel + 1}" if panel else "x"
        dots, band = (trace(figure, f"panel {panel} {name}") for name in (f"dots {key}", "band"))
        np.testing.assert_array_equal(dots.y, result.reliability.observed)
        np.testing.assert_array_equal(
            band.y[: len(result.reliability.rows)], result.reliability.band_low
        )
        assert dots.xaxis == band.xaxis == axis


def test_axes_are_the_same_in_every_panel(analysis):
    layout = before_after_chart(analysis, tuple(analysis.methods)).figure.layout
    ranges = {layout[f"{name}axis{n}"].range for name in "xy" for n in ("", 2, 3, 4)}
    assert len(ranges) == 1


def test_panels_are_titled_with_label_and_ks_error(analysis):
    notes = before_after_chart(analysis, ("uncalibrated", "beta")).figure.layout.annotations
    titles = [note.text for note in notes if note.xref.endswith("domain")]
    ks = [analysis.methods[key].ks.statistic for key in ("uncalibrated", "beta")]
    assert titles == [f"<b>Uncalibrated</b><br>KS {ks[0]:.1%}", f"<b>Beta</b><br>KS {ks[1]:.1%}"]


def test_rows_wrap_after_the_columns(analysis):
    layout = before_after_chart(analysis, tuple(analysis.methods), columns=2).figure.layout
    assert layout.xaxis3.domain == layout.xaxis.domain
    assert layout.yaxis3.domain[1] < layout.yaxis.domain[0]
    assert layout.xaxis3.showticklabels
    assert not layout.xaxis.showticklabels


def test_legend_names_each_thing_once(analysis):
    figure = before_after_chart(analysis, tuple(analysis.methods)).figure
    names = [t.name for t in figure.data if t.showlegend is not False]
    assert len(names) == len(set(names)) == 3


def test_a_panel_alone_draws_what_it_draws_among_all(analysis, trace):
    chart = before_after_panel(analysis, "beta")
    among = before_after_chart(analysis, ("beta",)).figure
    for uid in ("panel 0 band", "panel 0 dots beta"):
        alone = trace(chart.figure, uid)
        np.testing.assert_array_equal(alone.y, trace(among, uid).y)
    assert not chart.figure.layout.showlegend
    assert f"{evidence(analysis.methods['beta'])}" in chart.alt


def test_a_band_that_shows_too_little_is_not_drawn():
    few, wide = overconfident(28, n_bins=2), overconfident(60, n_bins=20)
    for small, expected in ((few, 0), (wide, 0), (overconfident(60, n_bins=2), 1)):
        assert bool(without_band(small.uncalibrated.reliability)) is (expected == 0)
        alone = before_after_panel(small, "uncalibrated").figure
        assert [one.uid for one in alone.data].count("panel 0 band") == expected
        named = before_after_chart(small, ("uncalibrated", "beta")).figure
        shown = [one.name for one in named.data if one.showlegend is not False]
        assert shown.count("95% consistency band") == expected
