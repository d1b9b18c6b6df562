import pytest

from calib.figures.axes import PERCENT_TICKS
from calib.figures.losses import checkpoint_chart
from tests.figures.drawn import checkpoints


@pytest.mark.parametrize("key", ["log_loss", "ks_error"])
def test_lines_are_the_models_estimates(analysis, trace, key):
    comparison = checkpoints(analysis)
    line = trace(checkpoint_chart(comparison).figure, f"{key} platt")
    values = [model.metrics["platt"][key] for model in comparison.models.values()]
    assert list(line.y) == [estimate.value for estimate in values]
    assert line.y[1] + line.error_y.array[1] == pytest.approx(values[1].high)
    assert line.y[1] - line.error_y.arrayminus[1] == pytest.approx(values[1].low)


def test_checkpoints_stand_at_their_numbers_and_names_side_by_side(analysis, trace):
    numbered = trace(checkpoint_chart(checkpoints(analysis)).figure, "log_loss platt")
    assert list(numbered.x) == pytest.approx([1, 9, 10])
    wide = checkpoint_chart(checkpoints(analysis, ("step 1", "step 10", "step 100"))).figure
    assert list(trace(wide, "log_loss platt").x) == pytest.approx([0, 1, 2])
    assert list(wide.layout.xaxis4.ticktext) == ["1", "10", "100"]
    unnumbered = checkpoint_chart(checkpoints(analysis, ("a", "b<b>", "c"))).figure
    assert list(trace(unnumbered, "log_loss platt").x) == pytest.approx([0, 1, 2])
    assert list(unnumbered.layout.xaxis4.ticktext) == ["a", "b&lt;b&gt;", "c"]
    assert set(unnumbered.layout.xaxis.ticktext) == {""}


def test_all_intervals_are_in_view(analysis):
    comparison = checkpoints(analysis)
    low, high = checkpoint_chart(comparison).figure.layout.yaxis2.range
    for model in comparison.models.values():
        for result in model.metrics.values():
            assert low < result["brier_score"].low < result["brier_score"].high < high


def test_words_say_where_it_begins_and_ends(analysis, texts):
    comparison = checkpoints(analysis)
    first, last = (
        comparison.models[name].metrics["beta"]["log_loss"].value for name in ("step 1", "step 10")
    )
    alt = checkpoint_chart(comparison).alt
    texts.shown(alt)
    assert f"Beta: {first:.4f} to {last:.4f}." in alt


def test_calibration_errors_are_in_per_cent(analysis, trace):
    figure = checkpoint_chart(checkpoints(analysis)).figure
    axes = figure.layout
    titles = [note.text for note in axes.annotations[:4]]
    place = titles.index("KS calibration error")
    formats = [axes[f"yaxis{i + 1 if i else ''}"].tickformat for i in range(4)]
    assert formats[place] == PERCENT_TICKS
    assert formats[titles.index("Log loss")] == "~g"
    assert "%" in trace(figure, "ks_error platt").hovertext[0]
    assert "%" not in trace(figure, "log_loss platt").hovertext[0]
