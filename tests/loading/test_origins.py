"""What predictions remember of their reading, and reading without a guess."""

import numpy as np
import pandas as pd
import pytest

from calib.data.file_options import Columns
from calib.data.origin import Origin
from calib.loading import InputError, load, load_models

N = 60
RNG = np.random.default_rng(2)
FRAME = pd.DataFrame(
    {
        "y": RNG.integers(0, 2, N),
        "p": RNG.random(N).round(3),
        "sample_weight": RNG.integers(1, 4, N),
        "region": RNG.choice(["north", "south"], N),
        "model": RNG.choice(["old", "new"], N),
    }
)


@pytest.fixture
def file(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def test_what_was_guessed_is_remembered_and_the_folder_is_not(file):
    found = load(file)
    columns = Columns(
        outcome="y",
        score="p",
        positive="1",
        weight="sample_weight",
        slices=("region", "model"),
    )
    assert found.origin == Origin(columns, file="rows.csv")
    again = load(file, exact=True, **found.origin.arguments())
    assert again.origin == found.origin
    assert again.fingerprint == found.fingerprint


def test_exact_uses_nothing_that_is_not_named(file, texts):
    found = load(file, outcome="y", score="p", positive="1", exact=True)
    assert found.weight is None
    assert dict(found.columns) == {}
    with texts.raises(InputError):
        load(file, score="p", exact=True)


def test_rows_in_memory_have_no_file():
    assert load(FRAME).origin.file == ""
    assert load(FRAME.to_csv(index=False)).origin.file == ""
    assert load(FRAME.to_csv(index=False).encode()).origin.file == ""


def test_the_rows_of_one_model_are_those_that_its_name_stands_beside(file):
    found = load(file, model="model", model_value="new")
    np.testing.assert_array_equal(found.scores, FRAME["p"][FRAME["model"] == "new"])
    assert (found.origin.columns.model, found.origin.columns.model_value) == ("model", "new")
    several = load_models(file, model="model")["new"]
    assert several.fingerprint == found.fingerprint


@pytest.mark.parametrize(
    "columns",
    [
        {"model": "z"},
        {"model": "model"},
        {"model": "model", "model_value": "x"},
    ],
)
def test_a_model_that_is_not_there_is_told(file, columns, texts):
    with texts.raises(InputError):
        load(file, **columns)


def test_class_columns_in_few_words(tmp_path, texts):
    scores = RNG.dirichlet(np.ones(3), N)
    frame = pd.DataFrame(scores, columns=["p_a", "p_b", "p_c"]).assign(
        kind=RNG.choice(list("abc"), N)
    )
    for said in ("p_a … p_c", "p_a ... p_c", "p_*", "p_a, p_b, p_c"):
        found = load(frame, outcome="kind", class_columns=said)
        assert found.class_names == ("a", "b", "c")
        assert found.origin.class_columns == "p_a … p_c"
    comma = frame.replace("b", "b, x").rename(columns={"p_b": "p_b, x"})
    columns = ("p_c", "p_b, x", "p_a")
    assert load(comma, outcome="kind", score=columns).origin.columns.score == columns
    with texts.raises(ValueError):
        load(frame, outcome="kind", score=columns, class_columns="p_*")
