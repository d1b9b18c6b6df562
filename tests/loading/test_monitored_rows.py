"""Rows of days: what counts as missing or late, and what is refused in which words."""

import contextlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib
from calib.data.day_counts import DayCounts
from calib.data.file_options import Columns
from calib.features.monitor.rows import read_days
from calib.loading import InputError

COLUMNS = {"outcome": "y", "score": "p", "time": "at"}


def rows(**more: object) -> pd.DataFrame:
    made = {
        "y": [1, 0, None, 1, 0],
        "p": [0.2, 0.4, 0.6, 0.8, 1.0],
        "at": ["2026-03-01 08:00", "2026-03-01 23:59", "2026-03-02", "2026-03-02", "2026-03-03"],
        "region": ["north", "south", "south", "", "north"],
    }
    return pd.DataFrame(made | more)


def days(frame: object, horizon: int = 30, **more: object) -> object:
    return read_days(frame, Columns(**(COLUMNS | more)), horizon)


def test_rows_without_an_outcome_are_missing():
    made = days(rows())
    assert made.counts.totals() == {"negative": 2, "positive": 2, "missing": 1, "late": 0}
    assert (str(made.first), str(made.last)) == ("2026-03-01", "2026-03-03")
    assert (made.columns.positive, made.columns.negative) == ("1", "0")


def test_outcomes_after_the_horizon_are_late():
    # The deadline of a day's rows is the end of the day a week later.
    arrived = ["2026-03-08 23:59", "2026-03-09 00:00", None, "2026-03-09", "2026-03-11 00:01"]
    made = days(rows(known=arrived), 7, arrived="known")
    assert made.counts.totals() == {"negative": 0, "positive": 2, "missing": 1, "late": 2}
    # An outcome that is still empty is missing, not late.
    assert days(rows(known=["2026-09-01"] * 5), 7, arrived="known").counts.totals()["late"] == 4


@pytest.mark.parametrize("aware", [False, True])
def test_one_moment_has_one_day_however_it_is_written(aware):
    local = ["2026-03-01T23:30:00-05:00", "2026-03-02T04:30:00Z", "2026-03-02 05:30 +0100"]
    local += ["2026-03-02 04:30", "2026-03-01T18:30-10"]
    made = days(rows(at=[pd.Timestamp(cell) for cell in local] if aware else local))
    assert (str(made.first), str(made.last)) == ("2026-03-02", "2026-03-02")
    west = pd.Series(pd.to_datetime(["2026-03-01 23:30"] * 5)).dt.tz_localize("US/Eastern")
    assert str(days(rows(at=west)).first) == "2026-03-02"
    arrived = days(rows(known=["2026-03-08T23:30-05:00"] * 5), 7, arrived="known")
    assert arrived.counts.totals()["late"] == 2


def test_slices_have_the_names_of_their_column():
    made = days(rows(), slices=("region",))
    assert made.counts.names == ("", "region=(missing)", "region=north", "region=south")
    frame = made.counts.frame()
    south = frame[frame["slice"] == "region=south"]
    assert south[["positive", "negative", "missing", "late"]].to_numpy().sum(axis=0).tolist() == [
        *(0, 1, 1, 0)
    ]


def test_the_fingerprint_is_that_of_the_rows_in_any_order():
    made = days(rows(), slices=("region",)).fingerprint
    assert days(rows().sample(frac=1.0, random_state=0), slices=("region",)).fingerprint == made
    assert days(rows(other=range(5)), slices=("region",)).fingerprint == made
    for changed in (rows(p=[0.2, 0.4, 0.6, 0.8, 0.9]), rows(y=[1, 0, 0, 1, 0]), rows()[:4]):
        assert days(changed, slices=("region",)).fingerprint != made
    assert days(rows()).fingerprint != made


@pytest.mark.parametrize(
    ("labels", "stated", "expected"),
    [
        ([True, False, None, True, False], {}, ("true", "false")),
        (["yes", "no", "", "Yes", "no"], {}, ("yes", "no")),
        (["0", "0", "", "0", "0"], {}, ("1", "0")),
        (["left", "stayed", "", "left", "stayed"], {"positive": "left"}, ("left", "stayed")),
        (
            ["left", "", "", "left", ""],
            {"positive": "left", "negative": "stayed"},
            ("left", "stayed"),
        ),
        ([None] * 5, {"positive": "left", "negative": "stayed"}, ("left", "stayed")),
    ],
)
def test_labels_are_stated_or_plain(labels, stated, expected):
    made = days(rows(y=labels), **stated)
    assert (made.columns.positive, made.columns.negative) == expected
    totals = made.counts.totals()
    wanted = [str(label).casefold() == expected[0] for label in labels]
    assert totals["positive"] == sum(wanted)
    assert sum(totals.values()) == 5


FAR = ["2026-03-01"] * 4


PLANS = pd.concat([rows(region=[f"{n}-{i}" for i in range(5)]) for n in range(11)])
YEARS = pd.Series(np.array(["2026-03-01"] * 4 + ["9999-03-01"], dtype="datetime64[s]"))
REFUSED = {
    "no role": (rows(), {"time": None}),
    "no column": (rows(), {"score": "q"}),
    "no slice": (rows(), {"slices": ("plan",)}),
    "which is positive": (rows(y=["left", "stayed", "", "left", "stayed"]), {}),
    "third label": (rows(y=["left", "stayed", "gone", "left", "stayed"]), {"positive": "left"}),
    "one label": (rows(y=["left"] * 5), {"positive": "left"}),
    "no label": (rows(y=[None] * 5), {}),
    "scores": (rows(p=[0.2, 0.4, 1.6, 0.8, None]), {}),
    "words": (rows(p=["low", "high", "low", "low", "low"]), {}),
    "numbers": (rows(at=[1, 2, 3, 4, 5]), {}),
    "no date": (rows(at=[*FAR, ""]), {}),
    "before": (rows(at=[*FAR, "1815-12-10"]), {}),
    "after": (rows(at=YEARS), {}),
    "no arrival": (rows(known=[None, *FAR]), {"arrived": "known"}),
    "arrival": (rows(known=range(5)), {"arrived": "known"}),
    "arrived before": (rows(known=["2026-03-02"] * 5), {"arrived": "known"}),
    "clusters": (rows(), {"group": "region"}),
    "zones": (rows(at=["2026-03-01 09:05 EST"] * 5), {}),
    "many slices": (PLANS, {"slices": ("region",)}),
    "no rows": (b"y,p,at\n", {}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_counted_is_refused_in_words(case, texts):
    frame, more = REFUSED[case]
    with pytest.raises(InputError) as refused:
        days(frame, **more)
    texts(str(refused.value))


SCORES = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0, 1, "0.5", "50%", None, "x", 1.5]))
CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.floats(), st.text(max_size=3), st.just("50%")
)
TIMES = st.one_of(
    st.dates().map(str), st.datetimes(), st.sampled_from(["2026-03-01", "2026-03-01T09:00Z", 0, ""])
)


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 1.0, "", None]), SCORES, TIMES, CELLS), min_size=1),
    st.booleans(),
)
def test_any_rows_are_counted_or_refused(cells, arrived):
    table = pd.DataFrame(cells, columns=["y", "p", "at", "region"], dtype=object)
    more = {"slices": ("region",)} | ({"arrived": "at"} if arrived else {})
    with contextlib.suppress(InputError):
        made = days(table, positive="1", negative="0", **more).counts
        assert made.n_rows == len(cells)
        assert made.frame()["score"].between(0.0, 1.0).all()
        kept = [DayCounts.of_bytes(*day) for day in made.by_day().items()]
        pd.testing.assert_frame_equal(DayCounts.sum(kept).frame(), made.frame())
    for columns in (
        {},
        {"outcome": "region", "positive": "1"},
        {"score": "region"},
        {"time": "region"},
    ):
        with contextlib.suppress(InputError):
            days(table, **columns)


def data(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    p = rng.random(n).round(3)
    at = np.datetime64("2026-03-01") + rng.integers(0, 3, n)
    frame = {"y": (rng.random(n) < p).astype(int), "p": p, "at": at, "region": p > 0.5}
    return pd.DataFrame(frame | {"w": 1.0 + (p > 0.3), "q": p, "household": np.arange(n) // 2})


def test_counts_by_day_are_those_of_the_rows():
    counted = calib.scan(data(), outcome="y", score="p", time="at")
    made = read_days(counted, Columns(), 30)
    pd.testing.assert_frame_equal(made.counts.frame(), days(data()).counts.frame())
    assert made.columns == days(data()).columns
    assert made.fingerprint == counted.fingerprint


def test_rows_that_a_scan_set_aside_are_named():
    frame = data().astype({"y": "Int8"})
    frame.loc[:9, "y"] = pd.NA
    counted = calib.scan(frame, outcome="y", score="p", time="at", drop_missing=True)
    made = read_days(counted, Columns(), 30)
    assert made.counts.n_rows == 390
    assert made.set_aside == {"outcome missing": 10}


TOO_LITTLE = {
    "no days": ({}, {}),
    "numbers": ({"time": "p"}, {}),
    "weights": ({"time": "at", "weight": "w"}, {}),
    "clusters": ({"time": "at", "group": "household"}, {}),
    "other column": ({"time": "at"}, {"outcome": "z"}),
    "slices": ({"time": "at"}, {"slices": ("region",)}),
    "arrival": ({"time": "at"}, {"arrived": "known"}),
    "models": ({"time": "at", "score": None, "models": ["p", "q"]}, {}),
}


@pytest.mark.parametrize("case", TOO_LITTLE)
def test_counts_that_say_too_little_are_refused_in_words(case, texts):
    scanned, more = TOO_LITTLE[case]
    counted = calib.scan(data(), **({"outcome": "y", "score": "p", "name": "counts"} | scanned))
    with pytest.raises(InputError) as refused:
        read_days(counted, Columns(**more), 30)
    texts(str(refused.value))
