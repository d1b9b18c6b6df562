"""Documented figures of real data."""

import numpy as np
import pandas as pd

from calib.analysis.decisions import Costs, decide
from calib.analysis.periods import cut_periods, period_table
from calib.analysis.slices import Slicing, slice_by, slice_error_rates, slice_gaps
from calib.crossfit.fitting import cross_fit_scores
from calib.crossfit.settings import Settings
from calib.data.counted import CountedRows
from calib.loading import guess, load, read
from tests.assessed import inspect, to_predictions


def test_compas_wrongs_black_and_white_defendants_differently(shared):
    table = read(shared / "data/corp/BROWARD_CLEAN.csv")
    # The file also says whether COMPAS was right, which is another outcome of two labels.
    mapping = guess(table).chosen(outcome="two_year_recid", score="compas_decile_score")
    assert "race" in mapping.slices
    (problem,) = [percents for percents in inspect(table, mapping) if percents.code == "ratings"]
    predictions = to_predictions(table, problem.repair)
    held_out = cross_fit_scores(
        CountedRows.of_rows(predictions.view()), Settings(methods=("uncalibrated",))
    )
    # A decile above 4 is high. That is a score of at least 0.5, the threshold of equal costs.
    rows = held_out.given_rows
    flagged = decide(held_out, Costs()).methods["uncalibrated"].flag(rows.score)
    race = slice_by(predictions.columns, ["race"])
    rates = slice_error_rates(rows, flagged, race).frame().set_index("slice")
    whole = slice_error_rates(rows, flagged, Slicing.whole(len(predictions))).frame()
    documented = {"1": (23.45, 47.72), "2": (44.85, 27.99)}
    for name, pair in documented.items():
        percents = 100 * rates.loc[name, ["false_positive", "false_negative"]].to_numpy(float)
        assert percents.round(2).tolist() == list(pair)
    assert (100 * whole.loc[0, ["false_positive", "false_negative"]].to_numpy(float)).round(
        2
    ).tolist() == [32.35, 37.40]


def test_nfl_seasons_are_slices_and_unplayed_games_are_set_aside(shared):
    games = pd.read_csv(shared / "data/forecasts/538_nfl_games.csv")
    per_season = games["season"].value_counts()
    # All games in the file have an outcome, so four of the last season lose theirs here.
    games.loc[games.index[games["season"] == 2021][:4], "prob1_outcome"] = np.nan
    predictions = load(
        games,
        outcome="prob1_outcome",
        score="prob1",
        positive=1,
        others_negative=True,
        drop_missing=True,
    )
    assert dict(predictions.set_aside) == {"outcome missing": 4}
    view = predictions.view()
    gaps = slice_gaps(view, view.score, slice_by(predictions.columns, ["season"]))
    assert gaps.names == tuple(map(str, range(2015, 2022)))
    assert gaps.rows[:6].tolist() == per_season.sort_index()[:6].tolist()
    assert gaps.rows[6] == per_season[2021] - 4
    table = period_table(view, view.score, cut_periods(predictions.columns["date"], "year"))
    # The last games of a season are played in the next year.
    assert table.names == tuple(map(str, range(2015, 2023)))
    assert table.rows.sum() == len(games) - 4
