"""Counts by day, slice and score: against counts by pandas, in any order, added up and kept."""

import zlib

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from calib.data.day_counts import DAY_OUTCOMES, EDGES, N_CELLS, DayCounts
from calib.features.monitor.rules import monitored


def rows(n: int = 5000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "day": np.datetime64("2026-03-01") + rng.integers(0, 3, n),
            "score": np.where(rng.random(n) < 0.01, rng.integers(0, 2, n), rng.beta(1, 6, n)),
            "kind": rng.integers(0, 4, n),
            "region": rng.integers(0, 3, n),
        }
    )


def counted(frame: pd.DataFrame) -> DayCounts:
    slices = {"region": (frame["region"].to_numpy(), ["north", "south", "west"])}
    day, score, kind = (frame[name].to_numpy() for name in ("day", "score", "kind"))
    return DayCounts.of_rows(day.astype("datetime64[D]"), score, kind, slices)


def test_counts_are_those_of_pandas():
    frame = rows()
    made = counted(frame).frame()
    for number, kind in enumerate(DAY_OUTCOMES):
        expected = frame[frame["kind"] == number].groupby("day").size()
        whole = made[made["slice"] == ""].groupby("day")[kind].sum()
        np.testing.assert_array_equal(whole, expected)
    south = frame[(frame["region"] == 1) & (frame["kind"] == 1)]
    assert made[made["slice"] == "region=south"]["positive"].sum() == len(south)
    assert counted(frame).totals() == {
        kind: int((frame["kind"] == number).sum()) for number, kind in enumerate(DAY_OUTCOMES)
    }


def test_columns_with_an_equals_sign_share_no_slice():
    one = np.ones(1, dtype=np.int64)
    slices = {"a": (one - 1, ["b=c"]), "a=b": (one - 1, ["c"]), '"a=b"': (one - 1, ["c"])}
    made = DayCounts.of_rows(np.full(1, np.datetime64("2026-03-01")), np.full(1, 0.5), one, slices)
    assert len(made.names) == 4
    assert made.frame()["positive"].tolist() == [1, 1, 1, 1]


def test_the_mean_score_of_rows_in_time_is_kept():
    frame = rows()
    made = counted(frame).frame()
    whole = made[made["slice"] == ""]
    in_time = frame[frame["kind"] < 2]
    total = (whole["score"] * (whole["positive"] + whole["negative"])).sum()
    assert total == pytest.approx(in_time["score"].sum(), rel=1e-6)
    # Cells of exactly 0 and 1 are kept apart.
    for certain in (0.0, 1.0):
        expected = (in_time["score"] == certain).sum()
        assert whole[whole["score"] == certain][["positive", "negative"]].sum().sum() == expected


def test_cells_are_a_tenth_in_log_odds():
    inner = EDGES[1:-1]
    np.testing.assert_allclose(np.diff(logit(inner)), 0.1, rtol=1e-6)
    assert logit(inner[[0, -1]]) == pytest.approx([-10.0, 10.0])
    assert N_CELLS == 200 + 4


def test_the_order_of_rows_makes_no_difference():
    frame = rows()
    shuffled = frame.sample(frac=1.0, random_state=1)
    assert counted(shuffled).by_day() == counted(frame).by_day()


def test_days_are_kept_and_opened():
    made = counted(rows())
    opened = DayCounts.sum([DayCounts.of_bytes(*day) for day in made.by_day().items()])
    pd.testing.assert_frame_equal(opened.frame(), made.frame())


def test_parts_of_a_day_are_added_up():
    frame = rows()
    parts = [counted(frame[frame["region"] == number]) for number in range(3)]
    made, whole = DayCounts.sum(parts), counted(frame)
    assert made.totals() == whole.totals()
    pd.testing.assert_frame_equal(
        made.frame().drop(columns="score").astype({"slice": str}),
        whole.frame().drop(columns="score").astype({"slice": str}),
    )
    np.testing.assert_allclose(made.frame()["score"], whole.frame()["score"], atol=1e-6)


def test_entries_stand_for_rows():
    frame = rows()
    frame["score"] = frame["score"].round(2)
    entries = frame.groupby(["day", "score", "kind"]).size().reset_index(name="rows")
    columns = (entries[name].to_numpy() for name in ("score", "kind"))
    day, number = entries["day"].to_numpy().astype("datetime64[D]"), entries["rows"].to_numpy()
    made = DayCounts.of_rows(day, *columns, {}, number).frame()
    expected = counted(frame).frame()
    expected = expected[expected["slice"] == ""].reset_index(drop=True)
    plain = {"slice": str}
    pd.testing.assert_frame_equal(made.astype(plain), expected.astype(plain))


def test_rows_without_outcomes_stay_rows():
    made = counted(rows())
    without = made.without_outcomes()
    assert without.rows_by_day() == made.rows_by_day()
    totals = without.totals()
    assert (totals["positive"], totals["negative"]) == (0, 0)
    assert totals["late"] == made.totals()["late"]
    expected = rows().groupby("day").size()
    assert made.rows_by_day() == {day.date(): n for day, n in expected.items()}


def test_too_many_rows_for_a_cell_are_refused(texts):
    day, one = np.full(1, np.datetime64("2026-03-01")), np.ones(1, dtype=np.int64)
    most = DayCounts.of_rows(day, np.full(1, 0.5), one, {}, np.full(1, 2**32 - 1))
    assert DayCounts.of_bytes(*next(iter(most.by_day().items()))).n_rows == 2**32 - 1
    with texts.raises(ValueError):
        DayCounts.sum([most, DayCounts.of_rows(day, np.full(1, 0.5), one, {})]).by_day()


def test_a_monitor_finds_in_cells_what_it_finds_in_rows():
    rng = np.random.default_rng(1)
    n = 200 * 180
    score, number = rng.beta(1, 6, n), np.arange(n) // 200
    positive = rng.random(n) < expit(logit(score) + np.where(number < 90, 0.0, 0.4))
    day = np.datetime64("2026-01-01") + number
    kind = positive.astype(np.int64)
    columns = {"day": day, "slice": "", "score": score, "positive": kind, "negative": 1 - kind}
    plain = pd.DataFrame(columns | {"missing": 0, "late": 0})
    cells = DayCounts.of_rows(day, score, kind, {}).frame()
    expected, made = (monitored(frame, horizon=0, today="2026-12-31") for frame in (plain, cells))
    # An alarm needs evidence of 1.3.
    for name in ("mixture", "shiryaev_roberts", "e_process"):
        np.testing.assert_allclose(made.evidence[name], expected.evidence[name], atol=0.05)
    assert made.episodes == expected.episodes
    assert len(made.episodes) == 1


def test_three_years_of_twenty_slices_fit_into_50_megabytes():
    """Scores in all cells: log-odds spread evenly, with as many rows in every slice."""
    rng = np.random.default_rng(0)
    n = 400_000
    score = expit(rng.uniform(-10.0, 10.0, n))
    slices = {"region": (rng.integers(0, 20, n), [f"region {i}" for i in range(20)])}
    kind = np.where(rng.random(n) < 0.1, rng.integers(2, 4, n), rng.random(n) < score)
    day = np.full(n, np.datetime64("2026-03-01"))
    made = DayCounts.of_rows(day, score, kind.astype(np.int64), slices)
    assert len(made.day) == 200 * 21
    (content,) = made.by_day().values()
    assert 3 * 366 * len(content) < 50e6


CONTENT = counted(rows(50)).by_day()["2026-03-01"]
TEXT = zlib.decompress(CONTENT)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        CONTENT[:-1],
        zlib.compress(TEXT[:-1]),
        zlib.compress(b"[]\n" + TEXT.partition(b"\n")[2]),
        zlib.compress(b"{}"),
        zlib.compress(b"1\n" + TEXT.partition(b"\n")[2]),
        zlib.compress(b"[" * 100_000 + b"\n"),
        zlib.compress(b"\xff\n"),
        zlib.compress(b"0" * 100_000_000),
    ],
)
def test_damaged_days_are_refused(content, texts):
    with texts.raises(ValueError):
        DayCounts.of_bytes("2026-03-01", content)
