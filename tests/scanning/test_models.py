"""Several models of one source: each is counted as if it were alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calib
from calib.cli.main import main
from calib.data.aggregate import Aggregate
from calib.loading import InputError
from tests.rare import common_first, rare
from tests.scanning.conftest import assert_same, drawn

GIVEN = {"outcome": "outcome", "slices": ["site", "age"], "time": "day", "weight": "weight"}
ENGINES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "duckdb": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame).lazy(),
}


@pytest.fixture
def wide() -> pd.DataFrame:
    rows = drawn().iloc[::40].reset_index(drop=True)
    return rows.assign(p_old=rows["score"], p_new=rows["score"] ** 1.5)


@pytest.fixture
def long(wide: pd.DataFrame) -> pd.DataFrame:
    """Models below each other, in a column of their own; the second lacks some rows."""
    others = wide.iloc[500:].assign(score=wide["p_new"])
    return pd.concat([wide.assign(version=9), others.assign(version=10)], ignore_index=True)


def alone(rows: pd.DataFrame, score: str, max_scores: int) -> Aggregate:
    """Counts of one model, made from its rows in memory."""
    columns = [*dict.fromkeys(["outcome", score, "site", "age", "day", "weight"])]
    given = GIVEN | {"score": score, "positive": "yes", "exact": True}
    return calib.aggregate(calib.load(rows[columns], **given), max_scores=max_scores)


# The counts of all models are exact, or all are on the grid.
@pytest.mark.parametrize("max_scores", common_first([100, 100_000], [100_000]))
@pytest.mark.parametrize("engine", ENGINES)
def test_a_score_column_per_model_gives_the_counts_of_each(
    wide: pd.DataFrame, engine: str, max_scores: int
) -> None:
    models = ["p_old", "p_new"]
    counted = calib.scan(ENGINES[engine](wide), models=models, max_scores=max_scores, **GIVEN)
    assert counted.models == tuple(models)
    assert counted.n_rows == 2 * len(wide)
    for model in models:
        of_model = counted.of_model(model)
        assert (of_model.models, of_model.score_name) == (("",), model)
        assert_same(of_model, alone(wide, model, max_scores))


@pytest.mark.parametrize("max_scores", common_first([100, 100_000], [100]))
@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_that_names_the_model_gives_the_counts_of_each(
    long: pd.DataFrame, engine: str, max_scores: int
) -> None:
    given = GIVEN | {"score": "score", "model": "version", "max_scores": max_scores}
    counted = calib.scan(ENGINES[engine](long), **given)
    # Names that are numbers, such as those of checkpoints, are in increasing order.
    assert counted.models == ("9", "10")
    for model, rows in long.groupby("version"):
        assert_same(counted.of_model(str(model)), alone(rows, "score", max_scores))


def test_each_model_keeps_the_step_of_its_scores(wide: pd.DataFrame) -> None:
    rows = wide.assign(p_old=wide["p_old"].round(2))
    counted = calib.scan(rows, models=["p_old", "p_new"], **GIVEN)
    assert counted.steps == {"p_old": 0.01}
    assert Aggregate.from_json(counted.to_json()).steps == counted.steps
    old, new = map(counted.of_model, counted.models)
    assert (old.rows().entries.step, new.rows().entries.step) == (0.01, 0.0)
    platt = {"methods": ("platt",)}
    tables = (calib.analyze(one, platt).table() for one in (old, alone(rows, "p_old", 10_000)))
    pd.testing.assert_frame_equal(*tables)


def test_a_sum_has_the_finer_step(wide: pd.DataFrame) -> None:
    tenths, hundredths = (
        alone(wide.assign(p=wide["score"].round(digits)), "p", 1000) for digits in (1, 2)
    )
    assert (tenths.steps, hundredths.steps) == ({"": 0.1}, {"": 0.01})
    assert (tenths + hundredths).steps == {"": 0.01}
    assert (tenths + alone(wide, "score", 1000)).steps == {}


@rare
def test_one_model_on_the_grid_puts_all_on_it(wide: pd.DataFrame) -> None:
    rows = wide.assign(p_new=wide["p_new"].round(2))
    counted = calib.scan(rows, models=["p_old", "p_new"], max_scores=200, **GIVEN)
    assert not counted.exact
    for model in counted.models:
        table = calib.analyze(counted.of_model(model), {"methods": ("platt",)}).table()
        expected = calib.analyze(alone(rows, model, 200), {"methods": ("platt",)}).table()
        np.testing.assert_allclose(table["log_loss"], expected["log_loss"], atol=1e-5)


def test_rows_that_are_set_aside_are_counted_by_model(wide: pd.DataFrame) -> None:
    rows = wide.copy()
    rows.loc[:9, "p_old"] = np.nan
    rows.loc[5:7, "p_new"] = np.inf
    counted = calib.scan(rows, outcome="outcome", models=["p_old", "p_new"], drop_missing=True)
    assert counted.set_aside == {"p_old: score missing": 10, "p_new: score infinite": 3}
    assert counted.of_model("p_old").set_aside == {"score missing": 10}
    assert counted.of_model("p_new").set_aside == {"score infinite": 3}


def test_rows_of_no_model_are_an_error_or_are_counted(long: pd.DataFrame, texts) -> None:
    rows = long.astype({"version": object})
    rows.loc[:4, "version"] = None
    rows["version"] = rows["version"].map(str, na_action="ignore")
    given = {"outcome": "outcome", "score": "score", "model": "version"}
    with texts.raises(InputError) as caught:
        calib.scan(rows, **given)
    assert caught.value.problems[0].code == "missing"
    counted = calib.scan(rows, drop_missing=True, **given)
    assert counted.set_aside == {"model missing": 5}
    assert counted.of_model("10").set_aside == {}
    assert counted.n_rows == len(rows) - 5


def test_what_is_wrong_says_of_which_model(wide: pd.DataFrame, long: pd.DataFrame, texts) -> None:
    rows = wide.assign(p_new=100.0 * wide["p_new"])
    with pytest.raises(InputError, match=r"Model `p_new`: Column `p_new`.*transform='percent'"):
        calib.scan(rows, outcome="outcome", models=["p_old", "p_new"])
    with pytest.raises(InputError, match="leave out `score`"):
        calib.scan(rows, outcome="outcome", score="p_old", models=["p_old", "p_new"])
    named = {"outcome": "outcome", "score": "score"}
    with texts.raises(InputError) as caught:
        calib.scan(wide, model="weight", **named)
    assert caught.value.problems[0].code == "model-column"
    one = long.loc[(long["version"] == 9) | (long["outcome"] == "no")]
    with texts.raises(InputError) as caught:
        calib.scan(one, model="version", **named)
    assert caught.value.problems[0].code == "one-class"
    both = calib.scan(long, model="version", **named)
    with texts.raises(ValueError):
        calib.analyze(both)


def test_counts_of_several_models_are_saved_and_added(long: pd.DataFrame, tmp_path: Path) -> None:
    given = GIVEN | {"score": "score", "model": "version"}
    first, second = (calib.scan(part, **given) for part in (long[::2], long[1::2]))
    first.save(tmp_path / "cells.parquet")
    both = Aggregate.load(tmp_path / "cells.parquet") + second
    for model in ("9", "10"):
        of_model = both.of_model(model)
        expected = first.of_model(model) + second.of_model(model)
        assert of_model.sources == expected.sources
        assert of_model.n_rows == (long["version"] == int(model)).sum()


@rare
def test_progress_of_models_never_goes_back(wide: pd.DataFrame) -> None:
    reports: list[tuple[float, str]] = []
    calib.scan(
        ENGINES["duckdb"](drawn().assign(other=drawn()["score"])),
        outcome="outcome",
        models=["score", "other"],
        slices=["site", "plan"],
        progress=lambda *report: reports.append(report),
    )
    shares = [share for share, _ in reports]
    assert shares == sorted(shares)
    assert reports[-1][1].startswith("other: ")


def test_the_command_line_counts_models_and_reports_one(
    wide: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str], texts
) -> None:
    wide.to_parquet(tmp_path / "rows.parquet")
    cells = str(tmp_path / "cells.parquet")
    models = ["--models", "p_old", "--models", "p_new", "-o", cells]
    assert main(["scan", str(tmp_path / "rows.parquet"), "--outcome=outcome", *models]) == 0
    assert Aggregate.load(cells).models == ("p_old", "p_new")
    assert main(["check", cells, "--max-ks=0.5"]) == 2
    texts.shown(capsys.readouterr().err)
    assert main(["check", cells, "--max-ks=0.5", "--model-value=p_new"]) == 0
