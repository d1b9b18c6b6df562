import numpy as np
import pytest

from calib.data.origin import Origin
from calib.data.predictions import Predictions

MATRIX = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8]])
CLASSES = [2, 1, 2]


def test_views_of_a_matrix_follow_the_definitions():
    predictions = Predictions.from_arrays(CLASSES, MATRIX)
    first, second = predictions.view("top:1"), predictions.view("top:2")
    np.testing.assert_allclose(first.score, [0.5, 0.4, 0.8])
    # In row 1, classes 0 and 1 tie. The lower index ranks first, so class 1 is second.
    assert first.outcome.tolist() == [False, False, True]
    assert second.outcome.tolist() == [True, True, False]
    within = predictions.view("within:2")
    np.testing.assert_allclose(within.score, [0.8, 0.8, 0.9])
    assert within.outcome.tolist() == [True, True, True]
    assert predictions.view("class:2").outcome.tolist() == [True, False, True]


def test_the_first_view_of_binary_scores_is_the_confidence():
    predictions = Predictions.from_arrays([0, 1, 1], [0.2, 0.7, 0.4])
    np.testing.assert_allclose(predictions.view("top:1").score, [0.8, 0.7, 0.6])
    assert predictions.view("top:1").outcome.tolist() == [True, True, False]
    assert predictions.view("class:0").outcome.tolist() == [True, False, False]


@pytest.mark.parametrize(
    "view",
    [
        "klass:1",
        "class:3",
        "top:0",
        "within:4",
    ],
)
def test_a_view_that_does_not_exist_is_refused(view, texts):
    with texts.raises(ValueError):
        Predictions.from_arrays(CLASSES, MATRIX).view(view)


@pytest.mark.parametrize(
    "arguments",
    [
        ([0, 1], [0.1]),
        ([0, 2], [0.1, 0.2]),
        ([0, 1], [0.1, 1.2]),
        ([0, 1], [0.1, np.nan]),
        ([], []),
        ([0, 3], MATRIX[:2]),
        ([0, 1], [[0.5, 0.4], [0.5, 0.5]]),
        ([0, 0], [[1.0], [1.0]]),
        ([0, 1], [0.1, 0.2], [1.0, 0.0]),
    ],
)
def test_bad_arrays_are_named(arguments, texts):
    with texts.raises(ValueError):
        Predictions.from_arrays(*arguments)


@pytest.mark.parametrize("test", [["test", "cal"], [np.nan, 0.0], [0.5, 0.0], [None, True]])
def test_test_rows_are_marked_by_0_and_1_only(test, texts):
    with texts.raises(ValueError, f"{test}"):
        Predictions.from_arrays([0, 1], [0.1, 0.2], test=test)
    for allowed in ([1, 0], [True, False], [1.0, 0.0]):
        rows = Predictions.from_arrays([0, 1], [0.1, 0.2], test=allowed)
        assert rows.test.tolist() == [True, False]


def test_the_fingerprint_sees_every_byte_of_every_column():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 1000), rng.random(1000)
    area = np.where(rng.random(1000) < 0.5, "north", "south")

    def fingerprint(y, p, area, **more):
        return Predictions.from_arrays(y, p, columns={"area": area}, **more).fingerprint

    first = fingerprint(y, p, area)
    assert first == fingerprint(y.copy(), p.copy(), area.copy())
    changed_p = p.copy()
    changed_p[567] = np.nextafter(p[567], 1)
    changed_area = area.copy()
    changed_area[999] = "south" if area[999] == "north" else "north"
    others = [
        fingerprint(y, changed_p, area),
        fingerprint(1 - y, p, area),
        fingerprint(y, p, changed_area),
        fingerprint(y, p, area, test=p > 0.5),
        fingerprint(y, p, area, class_names=("no", "yes")),
    ]
    assert len({first, *others}) == 1 + len(others)


def objects(*values):
    return np.array(values, dtype=object)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": objects("x", "1")}, {"a": objects("x", 1)}),
        ({"a": objects("x", None)}, {"a": objects("x", "None")}),
        ({"a": objects(None, 1.0)}, {"a": objects(np.nan, 1.0)}),
        ({"a": objects(1, True)}, {"a": objects(True, 1)}),
        ({"a": objects("bc", "d")}, {"a": objects("b", "cd")}),
        ({"a": objects("b', 'c", "d")}, {"a": objects("b", "c', 'd")}),
        ({"a": objects("x", "y")}, {"a": np.array(["x", "y"])}),
        ({"a": [1, 2]}, {"a": [1.0, 2.0]}),
        ({"a": np.array([1, 2], "i4")}, {"a": np.array([1, 2], "i8")}),
        ({"a": np.array([1, 2], "M8[s]")}, {"a": np.array([1, 2], "M8[D]")}),
        ({"a": [1, 2]}, {"b": [1, 2]}),
        ({"a": [1, 2], "b": [1, 3]}, {"b": [1, 3], "a": [1, 2]}),
        # The name contains the bytes of the first column.
        ({"a": [0, 0], "b": [3, 4]}, {f"a <i8 (2,){chr(0) * 16}column b": [3, 4]}),
    ],
)
def test_no_two_different_columns_have_the_same_fingerprint(one, other):
    first, again, second = (
        Predictions.from_arrays([0, 1], [0.2, 0.7], columns=columns).fingerprint
        for columns in (one, dict(one), other)
    )
    assert first == again != second


def test_the_fingerprint_sees_weights_groups_and_folds():
    y, p = [0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]
    variants = [
        {},
        {"sample_weight": [1.0, 1.0, 1.0, 1.0]},
        {"sample_weight": [1.0, 1.0, 1.0, np.nextafter(1.0, 2.0)]},
        {"group": [1, 1, 2, 2]},
        {"group": [1, 2, 2, 2]},
        {"fold": [1, 1, 2, 2]},
        {"fold": [1, 2, 1, 2]},
        {"test": [True, False, True, False]},
    ]
    seen = {Predictions.from_arrays(y, p, **given).fingerprint for given in variants}
    assert len(seen) == len(variants)


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "others"},
        {"score_name": "p"},
        {"outcome_name": "y"},
        {"set_aside": {"without a score": 1}},
        {"time_name": "day"},
        {"fold": ["a", "c"]},
        {"class_names": ("no", "yes")},
        {"origin": Origin(file="rows.csv")},
        {"columns": {"day": [1, 3]}},
    ],
)
def test_the_identity_sees_every_name_too(changed):
    given = {"columns": {"day": [1, 2]}, "fold": ["a", "b"]}
    one, again, other = (
        Predictions.from_arrays([0, 1], [0.2, 0.7], **more)
        for more in (given, given, given | changed)
    )
    assert one.identity == again.identity
    assert hash(one.identity) == hash(again.identity)
    assert one.identity != other.identity


def test_what_a_caller_passed_stays_writable_and_what_is_held_is_not(texts):
    y, p = np.array([0, 1]), np.array([0.25, 0.75])
    predictions = Predictions.from_arrays(y, p)
    p[0] = 0.5
    assert predictions.scores[0] == 0.25
    with texts.raises(ValueError):
        predictions.scores[0] = 0.5


def test_folds_are_numbered_by_name_in_any_order_of_the_rows():
    fold = np.array([3, 10, 7, 3, 10, 7])
    one = Predictions.from_arrays([0, 1] * 3, [0.5] * 6, fold=fold)
    two = Predictions.from_arrays([0, 1] * 3, [0.5] * 6, fold=fold[::-1])
    assert one.fold_names == two.fold_names == ("10", "3", "7")
    np.testing.assert_array_equal(one.fold, [1, 0, 2, 1, 0, 2])
    np.testing.assert_array_equal(two.view().fold, one.fold[::-1])
    np.testing.assert_array_equal(one.one_score("class:0").fold, one.fold)
    assert one.fingerprint != two.fingerprint


@pytest.mark.parametrize(
    "columns",
    [
        {"fold": [1, 2, None]},
        {"fold": [1, 1, 1]},
        {"fold": [1, 2]},
        {"fold": [1, 2, 2], "test": [0, 1, 1]},
    ],
)
def test_folds_that_say_nothing_are_refused(columns, texts):
    with texts.raises(ValueError):
        Predictions.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], **columns)


def test_a_row_without_a_group_is_refused(texts):
    with texts.raises(ValueError):
        Predictions.from_arrays([0, 1, 1], [0.2, 0.7, 0.6], group=["a", None, "b"])
