"""The rules of a monitor: maturity, alarms, episodes, slices and words."""

import math
from datetime import date

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import calib
from calib.features.monitor.result import Monitored
from calib.features.monitor.rules import monitored
from calib.features.monitor.tables import _joined
from calib.loading.examples import EXAMPLES
from calib.numerics.intervals import wilson_interval
from calib.numerics.monitoring import log_increments, start_weighted
from tests.rare import rare

START = pd.Timestamp("2025-01-01")
FRAMES = (
    *("evidence", "periods", "ranges", "slices", "slice_days", "slice_periods"),
    "slice_ranges",
)


def drawn(shift, n_days=200, per_day=200, seed=0, name=""):
    """Rows whose true log-odds are those of the score plus a shift by day."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(n_days), per_day)
    score = rng.beta(1, 3, len(day)).round(3).clip(0.001, 0.999)
    odds = score / (1 - score) * np.exp(np.broadcast_to(shift, n_days)[day])
    positive = (rng.random(len(day)) < odds / (1 + odds)).astype(float)
    return pd.DataFrame(
        {
            "day": START + pd.to_timedelta(day, "D"),
            "slice": name,
            "score": score,
            "positive": positive,
            "negative": 1 - positive,
            "missing": 0.0,
            "late": 0.0,
        }
    )


def after(position):
    return START + pd.Timedelta(days=position)


def same(one: Monitored, other: Monitored):
    for name in FRAMES:
        assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
    assert one.sentence == other.sentence
    assert one.episodes == other.episodes


@pytest.mark.parametrize("copies", [2, 5])
def test_a_file_with_every_row_several_times_is_named(copies, texts):
    once = drawn(0.0, n_days=20)
    result = monitored(pd.concat([once] * copies), horizon=0, today=after(19))
    assert result.copies == copies
    texts(result.notes[0], f"{copies} copies")
    # A few rows that are not copied make no difference.
    nearly = pd.concat([*[once] * copies, once.iloc[:40]])
    assert monitored(nearly, horizon=0, today=after(19)).copies == copies
    for other in (once, pd.concat([once, once.iloc[:2000]])):
        made = monitored(other, horizon=0, today=after(19))
        assert (made.copies, made.notes) == (1, ())


def test_ties_are_no_copies():
    tied = drawn(0.0, n_days=60)
    tied["score"] = tied["score"].round(1).clip(0.1, 0.9)
    assert monitored(tied, horizon=0, today=after(59)).copies == 1


OPPOSITE = {"high": 0.5, "low": -0.5}
CHANGED = np.where(np.arange(200) < 120, 0.0, 0.5)


def test_calibrated_scores_are_calm(texts):
    result = monitored(drawn(0.0), horizon=30, today=after(229))
    assert (result.state, result.since, result.advice) == ("calm", None, "leave")
    texts(result.sentence)
    assert result.notes == ()
    assert result.n_immature == 0


def test_a_change_raises_one_alarm_with_its_day(texts):
    result = monitored(drawn(CHANGED), horizon=30, today=after(229))
    assert result.state == "alarm"
    assert len(result.episodes) == 1
    changed = after(120).date()
    assert result.since_low <= changed <= result.since_high
    assert abs((result.since - changed).days) <= 3
    assert result.episode.raised == result.episode.day + pd.Timedelta(days=30)
    assert result.advice == "recalibrate"
    texts.shown(result.sentence)
    assert result.frame().equals(result.evidence)


def test_the_evidence_is_that_of_the_formulas():
    days = drawn(0.0, 40)
    day = ((days["day"] - START).dt.days).to_numpy()
    counts = (days[name].to_numpy() for name in ("score", "positive", "negative"))
    expected = start_weighted(log_increments(day, *counts, 40)) / math.log(10)
    result = monitored(days, horizon=0, today=after(39))
    np.testing.assert_allclose(result.evidence["mixture"], expected, atol=1e-9)
    assert result.threshold == pytest.approx(math.log10(20))


def test_the_order_of_rows_does_not_matter_and_entries_add_up():
    days = drawn(CHANGED)
    first = monitored(days, horizon=30, today=after(229))
    same(first, monitored(days, horizon=30, today=after(229)))
    same(first, monitored(days.sample(frac=1, random_state=3), horizon=30, today=after(229)))
    keys = ["day", "slice", "score"]
    summed = monitored(days.groupby(keys, as_index=False).sum(), horizon=30, today=after(229))
    np.testing.assert_allclose(summed.evidence["mixture"], first.evidence["mixture"], atol=1e-9)
    assert summed.episodes == first.episodes


def test_rows_are_tested_from_the_horizon_on_and_not_before():
    days = drawn(CHANGED)
    result = monitored(days, horizon=30, today=after(150))
    assert result.evidence["mature"].sum() == 121
    assert result.n_immature == 200 * 79
    assert result.evidence["mixture"].notna().sum() == 121
    # Younger rows have no effect on what is tested.
    old = monitored(days[days["day"] <= after(120)], horizon=30, today=after(150))
    mature = result.evidence["mature"]
    assert_frame_equal(result.evidence[mature], old.evidence)
    assert old.state == result.state


def test_the_means_since_a_change_say_how_many_rows_they_are_of():
    """Overview counts the young rows, too."""
    days = drawn(CHANGED)
    result = monitored(days, horizon=30, today=after(199))
    assert result.n_immature > 0
    tested = int(result.ranges["rows"].sum())
    assert tested < result.n_rows
    assert f"{tested:,} predictions" in result.details
    final = monitored(days, horizon=0, today=after(229))
    assert final.n_immature == 0
    assert "tested" not in final.details


def test_later_looks_change_no_earlier_evidence():
    days = drawn(CHANGED)
    early = monitored(days, horizon=30, today=after(180)).evidence
    late = monitored(days, horizon=30, today=after(229)).evidence
    mature = early["mature"]
    assert_frame_equal(early[mature], late[mature.to_numpy()])


def test_missing_and_late_outcomes_are_counted_and_not_used(texts):
    days = drawn(0.0)
    more = days.assign(positive=0.0, negative=0.0, missing=1.0).iloc[::8]
    late = days.assign(positive=0.0, negative=0.0, late=1.0).iloc[1::80]
    result = monitored(pd.concat([days, more, late]), horizon=30, today=after(229))
    plain = monitored(days, horizon=30, today=after(229))
    np.testing.assert_allclose(result.evidence["mixture"], plain.evidence["mixture"], atol=1e-9)
    assert (result.n_missing, result.n_late, result.n_rows) == (5000, 500, 40_000)
    assert result.missing_share == pytest.approx(5500 / 45_500)
    texts("\n".join(result.notes))


def test_a_recovery_closes_the_alarm():
    shift = np.where((np.arange(200) >= 60) & (np.arange(200) < 100), 0.6, 0.0)
    result = monitored(drawn(shift), horizon=0, today=after(199))
    assert result.state == "calm"
    assert result.since is None
    (episode,) = result.episodes
    assert episode.closed_by == "recovery"
    assert after(100).date() <= episode.closed <= after(110).date()


def test_days_and_rows_are_those_since_the_evidence_began_anew(texts):
    shift = np.where((np.arange(200) >= 60) & (np.arange(200) < 100), 0.6, 0.0)
    recovered = monitored(drawn(shift), horizon=0, today=after(199))
    first = recovered.episodes[0].closed + pd.Timedelta(days=1)
    left = (after(199).date() - first).days + 1
    words = f"{first.day} {first:%B %Y}"
    assert all(fact in recovered.sentence for fact in (str(left), f"{words}", f"{200 * left:,}"))
    assert recovered.ranges["rows"].sum() == recovered.n_rows == 200 * left
    renewed = monitored(drawn(shift), horizon=0, today=after(199), reset=[after(100)])
    texts(renewed.sentence)
    waiting = monitored(drawn(CHANGED), horizon=10, today=after(205), reset=[after(198)])
    texts(waiting.headline)
    # A recovery on the last day leaves nothing that was tested.
    stopped = drawn(shift)
    stopped = stopped[stopped["day"] < pd.Timestamp(first)]
    assert monitored(stopped, horizon=0, today=after(199)).state == "too early"


def test_the_other_lines_are_in_words(texts):
    result = monitored(drawn(CHANGED), horizon=0, today=after(199))
    table = result.evidence
    reached = table["day"][table["shiryaev_roberts"] >= math.log10(1095 / 0.05)].iloc[0]
    assert result.faster_reached == reached.date()
    assert str(reached.day) in result.other_lines
    assert result.ever_wrong
    calm = monitored(drawn(CHANGED), horizon=0, today=after(110))
    assert (calm.faster_reached, calm.ever_wrong) == (None, False)
    texts(calm.other_lines)
    # A new calibrator has lines of its own.
    renewed = monitored(drawn(CHANGED), horizon=0, today=after(199), reset=[after(195)])
    assert renewed.faster_reached is None or renewed.faster_reached >= after(195).date()


def test_slices_that_are_wrong_in_opposite_ways_are_not_left():
    parts = [drawn(shift, seed=k, name=name) for k, (name, shift) in enumerate(OPPOSITE.items())]
    result = monitored(pd.concat(parts), horizon=0, today=after(199))
    assert (result.state, len(result.wrong_slices)) == ("calm", 2)
    assert str(result.wrong_slices[0]) in result.advice


def test_a_new_calibrator_closes_the_alarm_and_starts_anew():
    shift = np.where((np.arange(200) >= 60) & (np.arange(200) < 100), 0.6, 0.0)
    days = drawn(shift)
    result = monitored(days, horizon=0, today=after(199), reset=[after(100)])
    assert [(e.closed, e.closed_by) for e in result.episodes] == [
        (after(100).date(), "new calibrator")
    ]
    assert result.state == "calm"
    alone = monitored(days[days["day"] >= after(100)], horizon=0, today=after(199))
    np.testing.assert_allclose(result.evidence["mixture"][100:], alone.evidence["mixture"])


def test_a_calibrator_without_mature_rows_is_too_early():
    result = monitored(drawn(CHANGED), horizon=10, today=after(205), reset=[after(198)])
    assert result.state == "too early"
    assert result.episodes[0].closed_by == "new calibrator"


def test_few_rows_are_too_early(texts):
    result = monitored(drawn(0.0, 2, 10), horizon=30, today=after(40))
    assert result.state == "too early"
    texts(result.sentence)


def test_nothing_is_too_early():
    empty = drawn(0.0, 1, 1).iloc[:0]
    for days in (empty, drawn(0.0)):
        result = monitored(days, horizon=30, today="2024-12-31")
        assert (result.state, result.n_rows, len(result.periods)) == ("too early", 0, 0)


def test_slices_have_the_tables_that_their_rows_alone_have():
    parts = {
        name: drawn(CHANGED * (name == "b"), per_day=60, seed=ord(name), name=name)
        for name in "abc"
    }
    together = monitored(pd.concat(parts.values()), horizon=10, today=after(199))
    assert_frame_equal(together.periods_of(), together.periods)
    assert_frame_equal(together.ranges_of(), together.ranges)
    since = pd.Timestamp(together.since)
    for name, rows in parts.items():
        alone = monitored(rows.assign(slice=""), horizon=10, today=after(199))
        periods = together.periods_of(name)
        assert_frame_equal(periods.drop(columns=["state", "log10_evidence"]), alone.periods)
        # The evidence after a period is that of its last day.
        last = alone.evidence.set_index("day")["mixture"].loc[periods["last_day"]]
        np.testing.assert_allclose(periods["log10_evidence"], last)
        state = together.slices.set_index("slice").loc[name, "state"]
        assert periods["state"].iloc[-1] == state == ("alarm" if name == "b" else "calm")
        assert periods["state"].iloc[0] == "calm"
        counted = rows[(rows["day"] >= since) & (rows["day"] <= after(189))]
        tenth = np.minimum((counted["score"] * 10 + 1e-9).astype(int), 9)
        ranges = together.ranges_of(name)
        expected = counted.groupby(tenth)[["positive", "negative"]].sum()
        np.testing.assert_array_equal(ranges["positive"], expected["positive"])
        np.testing.assert_array_equal(ranges["rows"], expected.sum(axis=1))


def test_slices_have_no_state_before_the_calibrator_in_use():
    parts = pd.concat([drawn(0.0, per_day=50, seed=k, name=name) for k, name in enumerate("ab")])
    late = (parts["slice"] == "b") & (parts["day"] < after(150))
    result = monitored(parts[~late], horizon=0, today=after(199), reset=[after(100)])
    table = result.slice_periods
    blank = table[table["state"] == ""]
    assert (blank[blank["slice"] == "a"]["last_day"] < after(100)).all()
    assert (blank[blank["slice"] == "b"]["last_day"] < after(150)).all()
    rest = table[table["state"] != ""]
    assert (rest["last_day"] >= after(100)).all()
    assert blank["log10_evidence"].isna().all()
    assert rest["log10_evidence"].notna().all()
    assert result.periods_of("b")["last_day"].min() >= after(150)


def test_too_many_slices_are_refused_before_memory_is_taken(texts):
    rows = calib.Predictions.from_arrays(
        [0, 1] * 600,
        [0.3, 0.6] * 600,
        columns={
            "day": np.repeat(np.datetime64("2026-01-01"), 1200),
            "who": [f"c{k}" for k in range(1200)],
        },
    )
    with texts.raises(ValueError):
        calib.monitor(rows, time="day", slices="who")


def test_one_wrong_slice_is_named(texts):
    parts = [drawn(CHANGED if k == 3 else 0.0, per_day=50, seed=k, name=f"s{k}") for k in range(8)]
    result = monitored(pd.concat(parts), horizon=0, today=after(199))
    assert result.wrong_slices == ("s3",)
    texts(result.advice)
    texts.shown(result.sentence)
    # Without an entry of all rows, the slices together are all rows.
    assert result.n_rows == 8 * 50 * 200
    total = pd.concat([*parts, *(part.assign(slice="") for part in parts)])
    with_total = monitored(total, horizon=0, today=after(199))
    assert with_total.n_rows == result.n_rows
    assert_frame_equal(with_total.slices, result.slices)
    np.testing.assert_allclose(with_total.evidence["mixture"], result.evidence["mixture"])


def test_certain_scores_and_one_class():
    days = drawn(0.0)
    certain = days.assign(score=1.0, positive=1.0, negative=0.0)
    assert monitored(certain, horizon=0, today=after(199)).state == "too early"
    wrong = monitored(certain.assign(positive=0.0, negative=1.0), horizon=0, today=after(199))
    assert wrong.state == "alarm"
    assert wrong.since == START.date()
    assert np.isfinite(wrong.evidence["mixture"]).all()


def test_the_band_of_a_period_is_that_of_a_binomial_number():
    days = drawn(0.0, 10, 1).assign(score=0.5, positive=[1.0] * 9 + [0.0])
    days["negative"] = 1 - days["positive"]
    table = monitored(days, horizon=0, today=after(9)).periods
    # Ten fair coins show 2 to 8 heads with probability 1 - 2 (1 + 10) / 1024 = 97.9%.
    assert table["band_low"].tolist() == pytest.approx([-0.3])
    assert table["band_high"].tolist() == pytest.approx([0.3])
    assert table["difference"].tolist() == pytest.approx([0.4])
    assert table["outside"].tolist() == [True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": -1}, "horizon must be at least 0 days, got -1"),
        ({"alpha": 1.0}, "alpha must fulfil 0 < alpha < 1, got 1.0"),
        ({"looks": 0}, "looks must be at least 1, got 0"),
    ],
)
def test_arguments_out_of_range_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        monitored(drawn(0.0, 2), **{"horizon": 0, "today": after(2), **change})


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("score", 1.5, "score must fulfil"),
        ("score", np.nan, "score must fulfil"),
        ("positive", 0.5, "positive must hold whole numbers"),
        ("late", -1.0, "late must hold whole numbers"),
        ("day", pd.NaT, "day must be a date in every row"),
    ],
)
def test_frames_with_impossible_values_are_refused(column, value, message):
    with pytest.raises(ValueError, match=message):
        monitored(drawn(0.0, 2).assign(**{column: value}), horizon=0, today=after(2))
    with pytest.raises(ValueError, match=f"; `{column}` is missing"):
        monitored(drawn(0.0, 2).drop(columns=column), horizon=0, today=after(2))


def rows(**more):
    days = drawn(CHANGED)
    columns = {"day": days["day"].to_numpy(), "half": np.arange(len(days)) % 2}
    return calib.Predictions.from_arrays(days["positive"], days["score"], columns=columns, **more)


def test_a_data_set_with_a_time_column_is_replayed():
    result = calib.monitor(rows(), time="day", horizon=30, slices="half")
    direct = monitored(drawn(CHANGED), horizon=30, today=after(229))
    assert_frame_equal(result.evidence, direct.evidence)
    assert result.slices["slice"].tolist() == ["0", "1"]
    assert result.slices["state"].tolist() == ["alarm", "alarm"]
    assert result.today == date(2025, 8, 18)


def test_rows_without_a_value_are_a_slice():
    days = drawn(CHANGED)
    names = np.where(np.arange(len(days)) % 2, "a", "")
    columns = {"day": days["day"].to_numpy(), "place": names}
    data = calib.Predictions.from_arrays(days["positive"], days["score"], columns=columns)
    result = calib.monitor(data, time="day", slices="place")
    assert result.slices["slice"].tolist() == ["(missing)", "a"]
    assert result.n_rows == len(days)


def test_counts_are_replayed_like_rows(texts):
    counted = calib.aggregate(rows(time_name="day"))
    result = calib.monitor(counted, time="day", horizon=30)
    plain = calib.monitor(rows(), time="day", horizon=30)
    np.testing.assert_allclose(result.evidence["mixture"], plain.evidence["mixture"], atol=1e-9)
    with texts.raises(ValueError):
        calib.monitor(counted, time="day", slices="half")


def clustered(seed, n_days=60, n_clusters=20, size=5):
    """Calibrated rows whose clusters share one draw, so that their outcomes are nearly equal."""
    rng = np.random.default_rng(seed)
    n = n_days * n_clusters
    group, day = np.repeat(np.arange(n), size), np.repeat(np.arange(n) // n_clusters, size)
    score = rng.beta(1, 3, n * size)
    outcome = rng.random(n)[group] < score
    columns = {"day": (START + pd.to_timedelta(day, "D")).to_numpy()}
    return outcome, score, group, columns


def test_one_row_of_each_cluster_is_tested(texts):
    outcome, score, group, columns = clustered(0)
    given = calib.Predictions.from_arrays(outcome, score, group=group, columns=columns)
    result = calib.monitor(given, time="day")
    assert (result.n_rows, result.n_in_clusters) == (1200, 4800)
    texts(result.notes[0])
    # The order of the rows and the names of the clusters make no difference.
    order = np.random.default_rng(1).permutation(6000)
    moved = calib.Predictions.from_arrays(
        outcome[order],
        score[order],
        group=[f"c{7919 * number % 1200}" for number in group[order]],
        columns={"day": columns["day"][order]},
    )
    same(calib.monitor(moved, time="day"), result)


@rare
def test_calibrated_clusters_raise_false_alarms_only_if_all_rows_count():
    alarms = {"one row of each": 0, "all rows": 0}
    for seed in range(60):
        outcome, score, group, columns = clustered(seed)
        for name, clusters in (("one row of each", group), ("all rows", None)):
            given = calib.Predictions.from_arrays(outcome, score, group=clusters, columns=columns)
            alarms[name] += bool(calib.monitor(given, time="day").episodes)
    # At most 3 of 60 monitors are expected to have a false alarm; 8 has a probability below 0.01.
    assert alarms["one row of each"] < 8
    assert alarms["all rows"] > 30


def test_clusters_on_several_days_weights_and_columns_without_dates_are_refused(texts):
    n = len(drawn(CHANGED))
    with texts.raises(ValueError):
        calib.monitor(rows(group=np.arange(n) % 400), time="day")
    with pytest.raises(ValueError, match="equal weights"):
        calib.monitor(rows(sample_weight=np.arange(1.0, n + 1)), time="day")
    with texts.raises(ValueError):
        calib.monitor(rows(), time="half")
    with texts.raises(ValueError):
        calib.monitor(rows(), time="week")


@pytest.fixture(scope="module")
def churned():
    """Churn as a person sees it on the page: 30 days until an outcome is final."""
    rows = EXAMPLES["churn"].load()
    return rows, calib.monitor(rows, time="predicted_at", horizon=30, slices="plan")


def test_the_rates_of_a_slice_are_those_since_the_change(churned):
    rows, result = churned
    assert str(result.since) == "2026-05-01"
    days = rows.columns["predicted_at"]
    tested = (days >= np.datetime64(result.since)) & (days <= result.evidence["day"].max())
    late = tested & (rows.columns["plan"] == "prepaid")
    row = result.slices.set_index("slice").loc["prepaid"]
    assert row["rows"] == late.sum()
    assert row["mean_score"] == pytest.approx(rows.scores[late].mean())
    assert row["observed"] == pytest.approx(rows.outcome[late].mean())
    assert 0.10 < row["difference"] < 0.16
    assert row["difference_low"] < row["difference"] < row["difference_high"]


def test_the_interval_of_the_day_of_the_change_is_a_few_days(churned):
    _, result = churned
    assert result.since_low <= date(2026, 5, 1) <= result.since_high
    assert (result.since_high - result.since_low).days <= 4


def test_the_shown_slice_has_evidence_of_its_own(churned):
    _, result = churned
    alone, every = result.evidence_of("prepaid"), result.evidence_of()
    assert len(alone) == len(every)
    assert alone["log10_evidence"].iloc[-1] == pytest.approx(
        result.slices.set_index("slice").loc["prepaid", "log10_evidence"]
    )
    assert alone["log10_evidence"].iloc[-1] != every["log10_evidence"].iloc[-1]
    charts = [calib.plot.monitor(result, of) for of in ("", "prepaid", "monthly")]
    for key in ("evidence", "observed"):
        drawn = [next(t for t in chart.data if t.uid == key).y for chart in charts]
        assert not np.array_equal(drawn[0], drawn[1])
        assert not np.array_equal(drawn[1], drawn[2])


def test_the_small_range_is_the_interval_and_not_the_band(churned):
    _, result = churned
    for table in (result.periods, result.ranges, result.slice_periods):
        known = table[table["rows"] > 0]
        assert (known["difference_low"] <= known["difference"]).all()
        assert (known["difference"] <= known["difference_high"]).all()
        low, high = wilson_interval(
            known["observed"].to_numpy(), known["rows"].to_numpy(float), 0.95
        )
        np.testing.assert_allclose(known["difference_low"], low - known["mean_score"])
        np.testing.assert_allclose(known["difference_high"], high - known["mean_score"])


def test_periods_of_few_rows_are_joined():
    rng = np.random.default_rng(5)
    # 60 complete days, of which the last month has only two days, and 40 rows a day.
    day = np.datetime64("2026-01-01") + np.repeat(np.arange(61), 40)
    score = rng.beta(2, 5, len(day)).round(3)
    rows = calib.Predictions.from_arrays(
        (rng.random(len(day)) < score).astype(int), score, columns={"day": day}
    )
    result = calib.monitor(rows, time="day", today="2026-03-02")
    assert result.periods["rows"].sum() == len(day)
    assert result.periods["rows"].min() >= 30
    assert result.periods["rows"].min() >= result.periods["rows"].median() / 4
    days = (result.periods["last_day"] - result.periods["first_day"]).dt.days + 1
    assert (result.periods["rows"] == 40 * days).all()


@pytest.mark.parametrize(
    ("rows", "joined"),
    [
        ([100, 1, 100], ("a", "b to c")),
        ([1, 100, 100, 1], ("a to b", "c to d")),
        ([20, 20, 20, 20], ("a to b", "c to d")),
        ([1], ("a",)),
        ([1, 1], ("a to b",)),
    ],
)
def test_a_joined_period_is_as_short_as_its_rows_allow(rows, joined):
    codes, names = _joined(np.arange(len(rows)), list("abcd")[: len(rows)], np.array(rows, float))
    assert names == joined
    assert codes.tolist() == sorted(codes.tolist())
