"""A person's own file comes back with a column of calibrated scores."""

from dataclasses import replace

import numpy as np
import pandas as pd

import calib
from calib.loading import Columns, InputError, assess, guess
from calib.loading.building.models import calibrate_table, with_calibrated
from calib.loading.reading.reader import read


def frame_of(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(2)
    return pd.DataFrame({"id": np.arange(n), "p": p, "y": (rng.random(n) < p).astype(int)})


def calibrated(frame, mapping=None, test=None, model=0):
    tables = [replace(read(frame), tests=None if test is None else read(test))]
    mapping = mapping or guess(tables[0])
    found = assess(tables, mapping)
    predictions = list(found.models.values())[model]
    analysis = calib.analyze(predictions, {"methods": ("platt",)})
    scores = calib.calibrated_scores(analysis, predictions, "platt")
    return with_calibrated(tables, mapping, scores, model), analysis


def test_rows_keep_their_place_and_those_set_aside_say_so():
    frame = frame_of().astype({"p": object})
    frame.loc[[3, 7], "p"] = None
    mapping = Columns(outcome="y", score="p", positive="1", drop_missing=True)
    made, _ = calibrated(frame, mapping)
    assert list(made.frame) == ["id", "p", "y", "calibrated", "calibrated_by"]
    assert made.frame["id"].tolist() == list(range(400))
    assert np.flatnonzero(made.frame["calibrated"].isna()).tolist() == [3, 7]
    assert made.frame["calibrated_by"][3] == "set aside"
    assert made.set_aside == {"score missing": 2}
    # The calibrator of each fold is strictly increasing, so it keeps the order within the fold.
    known = made.frame.dropna(subset="calibrated")
    assert known["p"].astype(float).corr(known["calibrated"], method="spearman") > 0.99


def test_a_column_of_the_same_name_stays():
    frame = frame_of().assign(calibrated="mine")
    mapping = Columns(outcome="y", score="p", positive="1")
    made, _ = calibrated(frame, mapping)
    assert list(made.frame)[-2:] == ["calibrated (2)", "calibrated_by"]
    assert set(made.frame["calibrated"]) == {"mine"}


def test_rows_of_the_test_file_stand_below():
    mapping = Columns(outcome="y", score="p", positive="1")
    made, analysis = calibrated(frame_of(), mapping, test=frame_of(300, seed=1))
    assert len(made.frame) == 700
    assert made.frame["calibrated_by"].value_counts().to_dict() == {
        "fitted on this row": 400,
        "fitted on other rows": 300,
        "out-of-fold": 0,
        "set aside": 0,
    }
    expected = analysis.held_out.calibrators["platt"].predict(made.frame["p"])
    np.testing.assert_allclose(made.frame["calibrated"], expected, rtol=1e-12)


def test_one_model_of_several():
    frame = frame_of().rename(columns={"p": "old"})
    frame["new"] = np.random.default_rng(2).permutation(frame["old"])
    frame["new"] = 0.5 * frame["new"] + 0.5 * frame["old"]
    mapping = Columns(outcome="y", positive="1", models=("old", "new"))
    made, _ = calibrated(frame, mapping, model=1)
    assert made.frame["new"].corr(made.frame["calibrated"], method="spearman") > 0.99


def test_new_scores_need_no_outcomes(texts):
    fitted = calib.calibrator("platt").fit([0.1, 0.4, 0.6, 0.9] * 20, [0, 1, 0, 1] * 20)
    table = read("id,p\na,20\nb,\nc,130\nd,100\n")
    made = calibrate_table(table, Columns(score="p", transform="percent"), fitted.predict)
    assert made.set_aside == {"score missing": 1, "score outside [0, 1]": 1}
    expected = fitted.predict([0.2, 1.0])
    np.testing.assert_allclose(made.frame["calibrated"][[0, 3]], expected, rtol=1e-15)
    swapped = calibrate_table(
        read("id,p\na,0.8\nb,0\n"), Columns(score="p", swap=True), fitted.predict
    )
    np.testing.assert_allclose(swapped.frame["calibrated"], fitted.predict([0.2, 1.0]), atol=1e-12)
    with texts.raises(InputError) as caught:
        calibrate_table(table, Columns(score="q"), fitted.predict)
    assert caught.value.problems[0].code == "score-column"


def test_new_rows_of_a_matrix():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1.0, 1.0, 1.0], 200)
    fitted = calib.multiclass_calibrator("temperature").fit(scores, scores.argmax(axis=1))
    frame = pd.DataFrame(scores[:3], columns=["a", "b", "c"])
    frame.loc[1, "a"] = 0.9
    made = calibrate_table(
        read(frame), Columns(score=("a", "b", "c")), fitted.predict, ("a", "b", "c")
    )
    assert list(made.frame)[3:] == ["calibrated_a", "calibrated_b", "calibrated_c"]
    assert made.set_aside == {"scores do not sum to 1": 1}
    np.testing.assert_allclose(
        made.frame.iloc[[0, 2], 3:], fitted.predict(scores[[0, 2]]), rtol=1e-12
    )
