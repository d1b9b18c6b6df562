"""Several models: below each other, side by side, or one a file."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calib.loading import Columns, InputError, assess, guess, load, load_models, read
from tests.golden import Texts

RNG = np.random.default_rng(11)
Y = RNG.integers(0, 2, 200)
A, B = (np.clip(0.3 * Y + RNG.uniform(0.1, 0.6, 200), 0, 1) for _ in "ab")
WIDE = pd.DataFrame({"y": Y, "prob_a": A, "prob_b": B})


def long(first="a", second="b", name="model") -> pd.DataFrame:
    """The same rows twice, model by model in turns."""
    parts = [pd.DataFrame({name: model, "y": Y, "p": s}) for model, s in ((first, A), (second, B))]
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def check(found, names=("a", "b")) -> None:
    assert list(found) == list(names)
    for predictions, scores in zip(found.values(), (A, B), strict=True):
        np.testing.assert_array_equal(predictions.outcome, Y)
        np.testing.assert_allclose(predictions.scores, scores, rtol=1e-15)


def test_a_column_of_models() -> None:
    check(load_models(long()))
    check(load_models(long(name="of"), model="of"))
    assert load_models(long(), name="mine")["b"].name == "mine: b"


def test_rows_without_a_model_are_refused_or_counted_as_in_a_scan() -> None:
    frame = long()
    frame.loc[[3, 8], "model"] = None
    for given in ({}, {"model": "model"}):
        with pytest.raises(InputError) as refused:
            load_models(frame, **given)
        (problem,) = refused.value.problems
        assert problem.code == "missing"
        assert problem.facts | {"role": "model", "count": 2, "total": 400} == problem.facts
        assert problem.repair is not None
        assert problem.repair.drop_missing
        found = load_models(frame, drop_missing=True, **given)
        assert {name: len(rows) for name, rows in found.items()} == {"a": 199, "b": 199}
    mapping = guess(read(frame), Columns(drop_missing=True), models=True)
    (left_out,) = (one for one in assess([read(frame)], mapping).problems if one.code == "left-out")
    assert left_out.facts["reasons"] == [("model missing", 2)]


def test_numbers_come_in_order_and_names_as_they_stand() -> None:
    check(load_models(long(2, 10, name="epoch")), ("2", "10"))
    check(load_models(long("z", "a")), ("z", "a"))


def test_a_column_a_model() -> None:
    check(load_models(WIDE), ("prob_a", "prob_b"))
    check(load_models(WIDE.assign(other=A), models=["prob_a", "prob_b"]), ("prob_a", "prob_b"))


def test_a_file_a_model(tmp_path) -> None:
    for name in ("prob_a", "prob_b"):
        WIDE[["y", name]].to_csv(tmp_path / f"{name[-1]}.csv", index=False)
    check(load_models([tmp_path / "a.csv", tmp_path / "b.csv"]))
    named = {"v1.0": tmp_path / "a.csv", "v1.1": tmp_path / "b.csv"}
    check(load_models(named), ("v1.0", "v1.1"))


def test_models_with_rows_and_classes_of_their_own() -> None:
    frame = long()
    matrix = pd.DataFrame(RNG.dirichlet(np.ones(3), 400), columns=["p_0", "p_1", "p_2"])
    frame = pd.concat([frame[["model"]], matrix], axis=1)
    frame["y"] = RNG.integers(0, 3, 400)
    found = load_models(frame.iloc[5:])
    assert {name: len(p) for name, p in found.items()} == {"b": 198, "a": 197}
    mask = (frame.model == "a").to_numpy()[5:]
    np.testing.assert_allclose(found["a"].scores, matrix[5:][mask], rtol=1e-12)


def test_one_model_is_one_entry() -> None:
    frame = WIDE[["y", "prob_a"]]
    (predictions,) = load_models(frame, name="mine").values()
    np.testing.assert_array_equal(predictions.scores, A)


def test_team_chances_are_no_models() -> None:
    frame = pd.DataFrame({"y": Y, "prob_home": A, "prob_away": 1.0 - A})
    assert guess(read(frame), models=True).models == ()


def test_a_model_is_guessed_only_where_models_are_asked_for() -> None:
    assert guess(read(long())).model is None
    cars = long("golf", "polo").assign(p=A.mean(), epoch=RNG.integers(0, 9, 400))
    # A column whose values have unequal numbers of rows, such as an epoch, is not a model.
    assert guess(read(cars.drop(columns="model")), models=True).model is None


def test_faults_name_their_model_and_rows_as_in_the_file(texts: Texts) -> None:
    frame = long()
    frame.loc[7, "p"] = np.nan
    with texts.raises(InputError):
        load_models(frame)
    found = load_models(frame, drop_missing=True)
    assert (len(found["a"]), len(found["b"])) == (200, 199)


def test_a_fault_of_all_models_is_told_and_repaired_once(texts: Texts) -> None:
    table = read(long().assign(p=100.0 * long().p))
    mapping = guess(table, models=True)
    (problem,) = [p for p in assess([table], mapping).problems if p.severity == "error"]
    texts.shown(problem.sentence)
    assert problem.repair == replace(mapping, transform="percent")
    check(assess([table], problem.repair).models)


def test_a_repair_that_would_harm_another_model_is_not_offered() -> None:
    mapping = Columns(outcome="y", positive="1", models=("prob_a", "prob_b"))
    found = assess([read(WIDE.assign(prob_b=100.0 * B))], mapping)
    (problem,) = [p for p in found.problems if p.severity == "error"]
    assert problem.sentence.startswith("Model `prob_b`: ")
    assert problem.repair is None
    assert found.models == {}


def test_structure() -> None:
    table = read(long().assign(id=np.arange(400)))
    wrong = Columns(outcome="y", score="p", positive="1")
    for model, key in (("id", "model-column.many"), ("nope", "model-column")):
        (problem,) = assess([table], replace(wrong, model=model)).problems
        assert problem.key == key
        assert problem.repair.model is None
    (problem,) = assess([replace(table, tests=table), table], wrong).problems
    assert problem.code == "files-and-test"


def test_a_test_file_is_told_apart_by_model_too() -> None:
    first, second = long().iloc[:300], long().iloc[300:]
    found = load_models(first, test=second)
    assert [int(p.test.sum()) for p in found.values()] == [50, 50]


def test_the_checklist_counts_models(texts: Texts) -> None:
    found = assess([read(WIDE)], guess(read(WIDE), models=True))
    texts(found.checklist[0])


def test_models_that_are_equal_are_told() -> None:
    rows = pd.DataFrame({"y": [0, 1] * 200, "p": np.linspace(0.1, 0.9, 400)})
    one, again = read(rows.to_csv(index=False), "a.csv"), read(rows.to_csv(index=False), "a.csv")
    other = read(rows.assign(p=1 - rows["p"]).to_csv(index=False), "b.csv")
    mapping = guess(one)
    codes = [problem.code for problem in assess([one, other, again], mapping).problems]
    assert codes.count("equal-models") == 1
    codes = [problem.code for problem in assess([one, other], mapping).problems]
    assert "equal-models" not in codes


PERCENT = ("10%", "80%", "20%", "90%")
COMMA = ("0,1", "0,8", "0,2", "0,9")


@pytest.mark.parametrize(("delimiter", "cells"), [(",", PERCENT), (";", COMMA), (";", PERCENT)])
def test_models_are_read_like_a_single_score(delimiter: str, cells: tuple[str, ...]) -> None:
    a, b, c, d = cells
    rows = [["y", "prob_a", "prob_b"], *[["0", a, c], ["1", b, d]] * 20]
    text = "\n".join(map(delimiter.join, rows))
    found = load_models(text)
    assert {name: model.scores[:2].tolist() for name, model in found.items()} == {
        "prob_a": [0.1, 0.8],
        "prob_b": [0.2, 0.9],
    }
    np.testing.assert_array_equal(load(text, score="prob_a").scores, found["prob_a"].scores)


@pytest.mark.parametrize(("cell", "code"), [("NA", "missing"), ("x", "text")])
def test_an_unreadable_cell_of_a_model_is_refused_like_that_of_a_single_score(
    cell: str, code: str
) -> None:
    text = "y,prob_a,prob_b\n" + "0,0.1,0.2\n1,0.8,0.9\n" * 20 + f"1,{cell},0.9\n"
    with pytest.raises(InputError) as refused:
        load_models(text)
    assert [problem.code for problem in refused.value.problems] == [code]
    assert len(load_models(text, drop_missing=True)["prob_a"]) == 40


@pytest.mark.parametrize(
    ("delimiter", "cells"),
    [
        (",", ("30.21%", "29.79%", "40%")),
        (";", ("0,3021", "0,2979", "0,4")),
        (";", ("30,21%", "29,79%", "40%")),
    ],
)
@pytest.mark.parametrize("missing", ["", "NA"])
def test_class_columns_of_text_are_found(
    delimiter: str, cells: tuple[str, ...], missing: str
) -> None:
    rows = [["y", "p_0", "p_1", "p_2"], *[[str(k), *cells] for k in range(3)] * 20]
    if missing:
        rows.append(["1", missing, *cells[1:]])
    text = "\n".join(map(delimiter.join, rows)) + "\n"
    found = load(text, drop_missing=bool(missing))
    np.testing.assert_allclose(found.scores, [[0.3021, 0.2979, 0.4]] * 60, rtol=1e-12)
