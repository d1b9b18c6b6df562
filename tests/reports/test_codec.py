import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import pytest
from typing_extensions import TypeAliasType

from calib.crossfit.settings import Settings
from calib.curves.functions import CalibrationFunction, LambdaPath
from calib.data.file_options import FileFormat
from calib.data.origin import Origin
from calib.numerics.arrays import FloatArray
from calib.reports.contents.codec import ReportError, decode, encode


@dataclass(frozen=True)
class Leaf:
    values: FloatArray
    low: float = float("nan")


@dataclass(frozen=True)
class Tree:
    name: str
    kind: Literal["oak", "elm"]
    leaves: Mapping[str, Leaf]
    rings: tuple[int, ...]
    height: float | None = None

    def __post_init__(self):
        if self.name == "":
            raise ValueError("name must not be empty, got ''.")


TREE = Tree("a", "oak", {"x": Leaf(np.array([0.5, np.nan, np.inf]))}, (1, 2))
DATA = {
    "name": "a",
    "kind": "oak",
    "leaves": {"x": {"values": [0.5, None, None], "low": None}},
    "rings": [1, 2],
    "height": None,
}
ADDED_TO_ORIGIN = ("sheet", "scorer", "filter", "correct_from", "percent_above_1", "log_files")


def test_dataclasses_become_strict_json():
    assert encode(TREE) == DATA
    json.dumps(encode(TREE), allow_nan=False)


def test_json_becomes_the_dataclass_again():
    tree = decode(Tree, DATA)
    assert (tree.name, tree.kind, tree.rings, tree.height) == ("a", "oak", (1, 2), None)
    np.testing.assert_array_equal(tree.leaves["x"].values, [0.5, np.nan, np.nan])
    assert np.isnan(tree.leaves["x"].low)


def test_what_has_a_default_may_be_missing():
    assert decode(Tree, {k: v for k, v in DATA.items() if k != "height"}).height is None


def test_an_added_field_is_written_unless_it_has_its_default():
    # The default of `correct_from` is None, so 0 is a score that somebody stated.
    for given in ({}, {"correct_from": 0.0}, {"scorer": "exact", "percent_above_1": True}):
        data = encode(Origin(format=FileFormat(**given)))
        assert {name: data[name] for name in ADDED_TO_ORIGIN if name in data} == given
        assert decode(Origin, data) == Origin(format=FileFormat(**given))


def test_an_added_field_can_stand_for_another_value_in_earlier_files():
    new = Settings()
    assert new.epsilon_rule == "symmetric"
    data = encode(new)
    assert data["epsilon_rule"] == "symmetric"
    assert decode(Settings, data) == new
    earlier = decode(Settings, {k: v for k, v in data.items() if k != "epsilon_rule"})
    assert earlier.epsilon_rule == "published"
    assert "epsilon_rule" not in encode(earlier)


def test_arrays_keep_nine_digits_and_single_numbers_all():
    third = 1 / 3
    assert encode(np.array([third])) == [0.333333333]
    assert encode(third) == third


@pytest.mark.parametrize(
    "change",
    [
        {"name": 3},
        {"kind": "fir"},
        {"kind": []},
        {"rings": [1, True]},
        {"rings": {}},
        {"height": "tall"},
        {"height": float("inf")},
        {"height": 10**400},
        {"rings": [10**20]},
        {"leaves": []},
        {"leaves": {"x": {}}},
        {"fruit": 1},
        {"name": ""},
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(change, texts):
    with texts.raises(ReportError):
        decode(Tree, DATA | change)


def test_half_a_character_is_replaced():
    tree = decode(Tree, DATA | {"name": "a\ud800", "leaves": {"\ud800": DATA["leaves"]["x"]}})
    assert tree.name == "a?"
    assert list(tree.leaves) == ["?"]


def test_what_json_cannot_hold_is_refused(texts):
    with texts.raises(TypeError):
        encode({"a": {1, 2}})


def test_a_lambda_path_comes_back_and_one_that_does_not_fit_is_refused(texts):
    grid = np.array([0.0, 1.0])
    path = LambdaPath(np.array([10.0, 0.1]), np.array([0.6, 0.5]), np.empty(0), 1)
    data = json.loads(json.dumps(encode(CalibrationFunction(grid, grid, grid, "s", path))))
    again = decode(CalibrationFunction, data)
    assert again.path.chosen == 1
    np.testing.assert_array_equal(again.path.losses, [0.6, 0.5])
    assert decode(CalibrationFunction, {k: v for k, v in data.items() if k != "path"}).path is None
    data["path"]["losses"].pop()
    with texts.raises(ReportError):
        decode(CalibrationFunction, data)


Kind = TypeVar("Kind", bound=np.generic)
# NumPy declares NDArray so from 2.5 on.
Alias = TypeAliasType("Alias", np.ndarray[tuple[Any, ...], np.dtype[Kind]], type_params=(Kind,))


@pytest.mark.parametrize("kind", [Alias[np.float64], Alias[np.float64] | None])
def test_arrays_are_read_by_the_alias_of_a_newer_numpy(kind):
    array = decode(kind, [1.5, None])
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, [1.5, np.nan])
