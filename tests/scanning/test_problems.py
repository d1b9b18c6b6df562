"""What cannot be counted is refused in the sentences of uploads, or set aside and counted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import calib
from calib.loading import InputError, InputWarning
from tests.scanning.conftest import drawn


def rows(n: int = 400, **columns: Any) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    score = rng.random(n)
    return pd.DataFrame({"y": (rng.random(n) < score).astype(int), "p": score} | columns)


NAMELESS: list[tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = [
    (lambda d: d.assign(site=np.where(d.p > 0.5, "north", "south")), ""),
    (lambda d: d.assign(y=np.where(d.y, "yes", "no"), pred=np.where(d.p > 0.5, "yes", "no")), ""),
    (lambda d: d.assign(q=1.0 - d.p), ""),
    (lambda d: d.assign(sample_weight=1.0 + d.y), ""),
    (lambda d: d.sort_values("y"), ""),
    (lambda d: pd.concat([d.round(1)] * 30), ""),
    (lambda d: d.rename(columns={"y": "sick"}).assign(married=d.y.to_numpy()[::-1]), "outcome"),
    (lambda d: d.assign(y=(d.p > 0.5) * 1).rename(columns={"y": "status"}), "no-outcomes"),
]


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize(("change", "code"), NAMELESS)
def test_columns_that_are_not_named_are_read_as_load_reads_them(
    change: Callable[[pd.DataFrame], pd.DataFrame], code: str, engine: str
) -> None:
    data = change(rows())
    source = data if engine == "duckdb" else pl.from_pandas(data).lazy()
    if code:
        errors = []
        for read in (calib.load, calib.scan):
            with pytest.raises(InputError) as caught:
                read(data if read is calib.load else source)
            errors.append(str(caught.value))
        assert errors[0] == errors[1]
        assert code in caught.value.problems[0].code
        return
    loaded, counted = calib.load(data), calib.scan(source)
    assert counted.n_rows == len(loaded)
    names = (loaded.outcome_name, loaded.score_name, loaded.class_names)
    assert (counted.outcome_name, counted.score_name, counted.class_names) == names
    assert counted.columns == tuple(loaded.columns)
    said = " ".join(counted.noticed[""])
    assert f"{loaded.outcome_name}" in said
    with pytest.raises(InputError) as strict:
        calib.scan(source, strict=True)
    assert all(one.code.startswith("guessed-") for one in strict.value.problems)


def test_strict_refuses_what_nobody_named() -> None:
    data = rows()
    named: dict[str, Any] = {"outcome": "y", "score": "p", "strict": True}
    assert calib.scan(data, **named).n_rows == 400
    words = data.assign(y=np.where(data.y, "yes", "no"))
    assert refused(words, strict=True).problems[0].code == "guessed-positive"
    assert calib.scan(words, positive="yes", **named).positive_name == "yes"
    with pytest.raises(InputError, match="outcome='y'"):
        calib.analyze(data, strict=True)


def test_a_doubt_about_a_column_is_told() -> None:
    with pytest.warns(InputWarning, match="row weights"):
        calib.scan(rows(weight=np.ones(400) + np.arange(400)))


def test_rows_that_are_right_or_wrong_are_not_counted() -> None:
    data = rows()
    label = np.where(data.p > 0.5, "yes", "no")
    gold = np.where(data.y, "yes", "no")
    confidence = data.p.where(data.p > 0.5, 1.0 - data.p)
    source = pd.DataFrame({"gold": gold, "pred": label, "confidence": confidence})
    with pytest.raises(InputError) as caught:
        calib.scan(source)
    assert caught.value.problems[0].code == "predicted"


def refused(source: Any, **given: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        calib.scan(source, **({"outcome": "y", "score": "p"} | given))
    return caught.value


CASES: list[tuple[Callable[[pd.DataFrame], pd.DataFrame], str, str]] = [
    (lambda d: d.assign(p=100 * d.p), "percent", "transform='percent'"),
    (lambda d: d.assign(p=np.log(d.p / (1 - d.p))), "logit", "transform='logit'"),
    (lambda d: d.assign(p=1.04 * d.p), "slightly-outside", "transform='clip'"),
    (lambda d: d.assign(p=(5 * d.p).round()), "ratings", "transform='tenths'"),
    (lambda d: d.assign(p=1000 * d.p), "thousandths", "transform='thousandths'"),
    (lambda d: d.assign(p=9000 * d.p), "not-probabilities", "Choose the column"),
    (lambda d: d.assign(p=d.p.astype(str)), "text", "cast it to a number"),
    (lambda d: d.assign(p=d.p.where(d.p > 0.1)), "missing", "drop_missing=True"),
    (lambda d: d.assign(p=d.p.where(d.p > 0.1, np.inf)), "infinite", "drop_missing=True"),
    (lambda d: d.assign(y=1), "one-class", "one-class|both classes"),
    (lambda d: d.assign(y=d.p), "many-labels", "not a label"),
    (lambda d: d.assign(y=np.where(d.y, "red", "blue")), "no-positive", "positive='red'"),
    (lambda d: d.assign(y=d.y + 1), "no-positive", "positive='2' or positive='1'"),
    (lambda d: d.rename(columns={"p": "prob"}), "no-column", "`p` is not in the source"),
    (lambda d: d.assign(y=None), "no-labels", "is empty"),
    (lambda d: d[:0], "no-rows|no-labels", "."),
]


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize(("change", "code", "words"), CASES)
def test_problems_have_the_codes_and_repairs_of_the_data_page(
    change: Callable[[pd.DataFrame], pd.DataFrame], code: str, words: str, engine: str
) -> None:
    data = change(rows())
    error = refused(data if engine == "duckdb" else pl.from_pandas(data).lazy())
    assert error.problems[0].code in code.split("|")
    assert any(word in str(error) for word in words.split("|"))


@pytest.mark.parametrize("lazy", [False, True])
def test_rows_that_are_left_out_are_counted_by_the_reason_that_load_gives(lazy: bool) -> None:
    data = rows(w=np.ones(400)).astype({"y": object})
    data.loc[:9, "y"] = None
    data.loc[5:19, "p"] = np.nan
    data.loc[20:22, "p"] = np.inf
    data.loc[23:24, "w"] = 0.0
    data.loc[30:39, "y"] = data.loc[30:39, "y"].map(str)
    data["y"] = data["y"].map(lambda value: value if value is None else str(value))
    data.loc[50, "y"] = "unknown"
    given = {"outcome": "y", "score": "p", "weight": "w", "drop_missing": True}
    expected = calib.load(data, positive="1", exact=True, **given).set_aside
    counted = calib.scan(pl.from_pandas(data).lazy() if lazy else data, **given)
    assert dict(counted.set_aside) == dict(expected)
    assert counted.n_rows + sum(counted.set_aside.values()) == 400


def test_rounding_outside_of_the_range_is_no_problem() -> None:
    data = rows()
    data.loc[0, "p"], data.loc[1, "p"] = 1.0 + 1e-7, -1e-7
    counted = calib.scan(data, outcome="y", score="p")
    assert counted.table.low.min() == 0.0
    assert counted.table.high.max() == 1.0


def test_slices_of_too_many_values_are_refused() -> None:
    data = rows(2000, name=[f"n{i}" for i in range(2000)])
    assert refused(data, slices=["name"]).problems[0].code == "many-values"
    data["a"] = [f"a{i % 50}" for i in range(2000)]
    data["b"] = [f"b{i // 50 % 30}" for i in range(2000)]
    error = refused(data, slices=[("a", "b")])
    assert error.problems[0].code == "many-values"
    assert "`a` crossed with `b` has 1,500" in str(error)
    assert refused(data, slices=[("a", "a")]).problems[0].code == "slices"


def test_sources_that_are_not_there_are_told(tmp_path: Path) -> None:
    assert refused(tmp_path / "no.parquet").problems[0].code == "no-file"
    assert refused(tmp_path).problems[0].code == "empty-folder"
    assert refused(tmp_path / "*.parquet").problems[0].code == "engine"
    assert refused(42).problems[0].code == "no-source"
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as database:
        database.execute("CREATE TABLE scores AS SELECT 1 AS y, 0.5 AS p")
    assert "`scores`" in str(refused(tmp_path / "rows.duckdb", table="prices"))


def test_a_file_that_must_not_be_read_is_told(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "rows.parquet"
    rows().to_parquet(path)
    # The user who runs the tests may be root, who can read every file.
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "permission denied" in str(refused(path))


def damaged(path: Path, change: Callable[[bytes], bytes]) -> Path:
    path.write_bytes(change(path.read_bytes()))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file[: len(file) // 2],
        lambda _: b"",
        lambda file: file[:-4],
        lambda file: file[:4] + bytes(40) + file[44:],
        lambda file: file[:900] + bytes(800) + file[1700:],
    ],
    ids=["half", "empty", "without its end", "first page", "pages"],
)
def test_a_parquet_file_that_is_cut_off_or_damaged_is_told(
    change: Callable[[bytes], bytes], tmp_path: Path, texts
) -> None:
    rows().to_parquet(tmp_path / "a.parquet")
    rows().to_parquet(path := tmp_path / "b.parquet", compression="zstd")
    damaged(path, change)
    for source in (path, tmp_path):
        error = refused(source)
        assert error.problems[0].code == "damaged"
        texts.shown(str(error), "each case")
        assert "engine" not in str(error)
    assert "b.parquet" in str(refused(path))


def test_other_damaged_files_are_told(tmp_path: Path) -> None:
    rows().to_csv(tmp_path / "rows.csv.gz", index=False)
    rows().to_feather(tmp_path / "rows.arrow")
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as database:
        database.execute("CREATE TABLE scores AS SELECT 1 AS y, 0.5 AS p")
    for name in ("rows.csv.gz", "rows.arrow", "rows.duckdb"):
        path = damaged(tmp_path / name, lambda file: file[7 : len(file) // 2])
        error = refused(path, **({"table": "scores"} if name == "rows.duckdb" else {}))
        assert error.problems[0].code == "damaged", str(error)
        assert name in str(error)


def test_values_that_contradict_the_statistics_of_their_file_are_told(
    tmp_path: Path, texts
) -> None:
    data = rows(20_000)
    data.to_parquet(path := tmp_path / "rows.parquet", compression="none", use_dictionary=False)
    place = path.read_bytes().index(data["p"].to_numpy()[:100].tobytes())
    noise = np.full(50, -1e300).tobytes()
    damaged(path, lambda file: file[:place] + noise + file[place + len(noise) :])
    texts.shown(str(refused(path)))


def test_a_partition_of_another_type_is_told(tmp_path: Path, texts) -> None:
    rows().to_parquet(tmp_path / "a.parquet")
    rows().assign(p="high").to_parquet(tmp_path / "b.parquet")
    error = refused(tmp_path)
    assert error.problems[0].code == "engine"
    texts.shown(str(error))


def test_names_of_columns_and_files_cannot_break_out(tmp_path: Path) -> None:
    odd = 'p"; DROP TABLE x; --'
    data = rows().rename(columns={"p": odd})
    path = tmp_path / "it's.parquet"
    data.to_parquet(path)
    assert calib.scan(path, outcome="y", score=odd).n_rows == 400


def test_the_labels_of_the_outcome_are_read_as_load_reads_them() -> None:
    data = drawn().iloc[:5000]
    spelled = data["outcome"].mask(data.index % 3 == 0, data["outcome"].str.upper())
    counted = calib.scan(data.assign(outcome=spelled), outcome="outcome", score="score")
    assert (counted.class_names, counted.n_rows) == (("no", "yes"), 5000)
