"""Smallest files in which names mislead: the numbers decide, or a person is asked."""

import io
import json
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib.data.predictions import Predictions
from calib.loading import InputError, InputWarning, load, load_models, read
from calib.loading.guessing.evidence import add_up, printed_places
from calib.ui.controls.uploaders import repairs
from calib.ui.session.upload import Upload

RNG = np.random.default_rng(7)
N = 400
P = RNG.random(N).round(4)
Y = (RNG.random(N) < P).astype(int)
PREDICTED = (P >= 0.5).astype(int)
OTHER = (1.0 - P).round(4)
CONFIDENCE = np.maximum(P, OTHER)
RIGHT = (PREDICTED == Y).astype(int)
WORDS = np.array(["no", "yes"])
FEATURE = RNG.integers(0, 2, N)
# Facts that are no outcomes, and on which the scores depend a little.
STEEP = (RNG.random(N) < 0.7 + 0.2 * P).astype(int)
UNSURE = RNG.random(N) < 1.6 - 1.5 * CONFIDENCE


def read_of(found: Predictions) -> tuple[str, str]:
    """Whether outcome and score, or right or wrong and the confidence, were read."""
    outcomes = {"truth": Y, "right": RIGHT}
    scores = {"p": P, "confidence": CONFIDENCE}
    outcome = [name for name, values in outcomes.items() if (found.outcome == values).all()]
    score = [name for name, values in scores.items() if np.allclose(found.scores, values)]
    return (outcome or ["?"])[0], (score or ["?"])[0]


TRUTH, CONFIDENT = ("truth", "p"), ("right", "confidence")
READ: dict[str, tuple[dict[str, object], tuple[str, str]]] = {
    "a predicted label beside two classes": (
        {"churn": WORDS[Y], ".pred_no": OTHER, ".pred_yes": P, ".pred_class": WORDS[PREDICTED]},
        TRUTH,
    ),
    "a predicted label with the name of a class": (
        {"SampleId": range(N), "Probability": P, "Class": PREDICTED, "Label": Y},
        TRUTH,
    ),
    "a label is predicted, and another is actual": (
        {"label": WORDS[PREDICTED], "score": CONFIDENCE, "actual": WORDS[Y]},
        CONFIDENT,
    ),
    "a prediction beside an outcome without a telling name": (
        {"prediction": PREDICTED, "predicted_probability": P, "smoker": Y},
        TRUTH,
    ),
    "the truth after a response": (
        {"response": WORDS[PREDICTED], "truth": WORDS[Y], "prob.yes": P},
        TRUTH,
    ),
    "a predicted class beside a ground truth": (
        {"win_classprediction": PREDICTED, "winprobability": P, "win_groundtruth": Y},
        TRUTH,
    ),
    "the confidence of a predicted label": (
        {"gold": WORDS[Y], "pred": WORDS[PREDICTED], "score": CONFIDENCE},
        CONFIDENT,
    ),
    "a text classifier": (
        {"true_label": WORDS[Y], "label": WORDS[PREDICTED], "score": CONFIDENCE},
        CONFIDENT,
    ),
    "a feature with the words of the labels": (
        {
            "gold": WORDS[Y],
            "member": WORDS[FEATURE],
            "label": WORDS[PREDICTED],
            "score": CONFIDENCE,
        },
        CONFIDENT,
    ),
    "a flag beside a resolution": (
        {"Resolution": WORDS[Y], "public": FEATURE, "forecast": P},
        TRUTH,
    ),
    "the token of a market": (
        {"token": WORDS[FEATURE], "price": P, "winner": Y.astype(bool)},
        TRUTH,
    ),
    "a confidence beside both classes": (
        {"y_true": Y, "p_approve": P, "p_reject": OTHER, "confidence": CONFIDENCE},
        TRUTH,
    ),
    "names with letters that a program adds": (
        {"late": WORDS[Y], "I_late": WORDS[PREDICTED], "P_lateno": OTHER, "P_lateyes": P},
        TRUTH,
    ),
    "residuals, which follow the outcome": (
        {"default": Y, ".fitted": P, ".resid": Y - P, ".hat": P / 20, ".cooksd": OTHER / 40},
        TRUTH,
    ),
    "a flag with the name of an outcome": ({"is_member": FEATURE, "died": Y, "risk": P}, TRUTH),
    "a column of one value": (
        {"Class": Y, "p_0": OTHER, "p_1": P, "POSITIVE_CLASS": 1, "THRESHOLD": 0.5},
        TRUTH,
    ),
}


@pytest.mark.parametrize("case", READ)
def test_what_the_numbers_show_is_read(case: str) -> None:
    columns, wanted = READ[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        found = load(pd.DataFrame(columns))
    assert read_of(found) == wanted
    assert found.weight is None


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "no outcomes": ({"id": range(N), "status": PREDICTED, "probability": P}, "no-outcomes"),
    "no outcomes beside two classes": (
        {"churn_1_PREDICTION": P, "churn_0_PREDICTION": OTHER, "churn_PREDICTION": PREDICTED},
        "no-outcomes",
    ),
    "a flag, and no outcome": (
        {"neutral": FEATURE, "elo_prob1": P, "elo": 1500 + FEATURE + P},
        "no-outcomes",
    ),
    "predicted labels beside facts of persons": (
        {"sex": np.array(["F", "M"])[FEATURE], "predicted": PREDICTED, "score": P},
        "no-outcomes",
    ),
    "counts, and no rows": (
        {"threshold": np.arange(20) / 20, "hits": 7 * np.arange(20), "rows": 9 * np.arange(20)},
        "no-outcome",
    ),
    "an amount in place of an outcome": (
        {
            "P12": (100 * P).round(),
            "rain": np.where(Y, P.round(2), 0.0),
            "degrees": np.arange(N) % 40,
        },
        "no-outcome",
    ),
    "no score": ({"y": Y, "sex": WORDS[FEATURE]}, "no-score"),
    "two facts": ({"sick": Y, "married": FEATURE, "risk": P}, "which-outcome"),
    "two facts that the score does not predict": (
        {"owner": FEATURE, "online": 1 - FEATURE[::-1], "risk": P},
        "no-outcomes",
    ),
    "features on which the score depends, beside predicted labels": (
        {"senior": STEEP, "owner": FEATURE, "prediction": PREDICTED, "probability": P},
        "no-outcomes",
    ),
    "a decision, and the confidence in something else": (
        {"escalated": UNSURE, "confidence": CONFIDENCE, "topic": WORDS[FEATURE]},
        "no-outcomes",
    ),
    "texts of which none repeats": (
        {
            "question": [f"Will it rain on day {i}?" for i in range(30)],
            "a": P[:30],
            "b": OTHER[:30],
        },
        "no-outcome",
    ),
    "predicted labels as scores": ({"y": Y, "prediction": PREDICTED}, "labels-only"),
    "outcomes with one label": (
        {"y": np.where(Y, "x", None), "p": P},
        "empty-outcomes",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_known_is_asked_or_refused(case: str) -> None:
    columns, code = REFUSED[case]
    with pytest.raises(InputError) as refused:
        load(pd.DataFrame(columns))
    assert [problem.code for problem in refused.value.problems] == [code]


def test_the_first_answer_is_the_outcome_that_the_score_fits() -> None:
    frame = pd.DataFrame({"married": FEATURE, "sick": Y, "risk": P})
    with pytest.raises(InputError) as asked:
        load(frame)
    choices = asked.value.problems[0].choices
    assert [choice.arguments["outcome"] for choice in choices] == ["sick", "married"]
    assert "AUC" in choices[0].label
    assert "KS" in choices[0].label
    assert read_of(load(frame, **choices[0].arguments)) == TRUTH


def test_a_score_without_a_telling_name_is_chosen_and_then_converted() -> None:
    frame = pd.DataFrame({"degrees": RNG.integers(0, 40, N), "P12": (100 * P).round(), "obs": Y})
    with pytest.raises(InputError) as asked:
        load(frame)
    first, _ = asked.value.problems[0].choices
    with pytest.raises(InputError) as percent:
        load(frame, **first.arguments)
    (problem,) = percent.value.problems
    assert problem.code == "percent"
    (repair,) = problem.answers(percent.value.mapping)
    assert read_of(load(frame, **first.arguments, **repair)) == ("truth", "?")


@pytest.mark.parametrize("n", [20, 30])
def test_few_rows_are_weak_evidence_against_the_name_of_an_outcome(n: int) -> None:
    few = np.linspace(0.02, 0.98, n)
    labels = (few > 0.5).astype(int)
    with pytest.warns(InputWarning, match="never wrong"):
        found = load(pd.DataFrame({"label": labels, "pred": labels, "score": few}))
    np.testing.assert_array_equal(found.outcome, labels)
    # A column with another name has no better claim, and one with more rows is too improbable.
    for name, scores in (("flagged", few), ("label", np.linspace(0.02, 0.98, 2 * 30))):
        with pytest.raises(InputError) as refused:
            load(pd.DataFrame({name: (scores > 0.5).astype(int), "score": scores}))
        assert [problem.code for problem in refused.value.problems] == ["no-outcomes"]


def test_few_rows_do_not_hide_the_outcome_beside_predicted_labels() -> None:
    few = pd.DataFrame({"label": PREDICTED, "result": Y, "score": P}).head(25)
    assert load(few).outcome_name == "result"


def versions() -> tuple[pd.DataFrame, np.ndarray]:
    """Three versions of the scores of each row, and the scores of the last one."""
    scores = {"v2": P, "v9": (P**2).round(4), "v10": (P**1.5).round(4)}
    parts = [pd.DataFrame({"row_id": np.arange(N), "y": Y, "p": p}) for p in scores.values()]
    parts = [part.assign(release=name) for part, name in zip(parts, scores, strict=True)]
    return pd.concat(parts, ignore_index=True), scores["v10"]


def test_rows_that_repeat_per_version_are_asked_about() -> None:
    frame, last = versions()
    with pytest.warns(InputWarning, match="`release`") as asked:
        load(frame)
    problem = asked[0].message.problem  # type: ignore[union-attr]
    answers = problem.answers(asked[0].message.mapping)  # type: ignore[union-attr]
    np.testing.assert_array_equal(load(frame, **answers[0]).scores, last)
    assert load(frame, **answers[1]).group is not None
    assert len(load(frame, outcome="y", score="p")) == 3 * N


def test_on_the_page_the_versions_are_the_last_one_models_or_clusters() -> None:
    upload = Upload.of(read(versions()[0]))
    assert upload.question is not None
    mappings = [mapping for _, mapping in repairs(upload.question, upload.mapping)]
    uploads = [upload.mapped(mapping) for mapping in mappings]
    assert [list(one.models) for one in uploads] == [["data"], ["v2", "v9", "v10"], ["data"]]
    assert "model: release, model_value: v10" in uploads[0].read_as[0]
    assert [one.question for one in uploads] == [None] * 3


@pytest.mark.parametrize("case", ["another outcome", "an id twice", "few repeats"])
def test_other_rows_with_the_same_id_are_no_versions(case: str) -> None:
    frame, _ = versions()
    if case == "another outcome":
        frame["y"] = RNG.integers(0, 2, 3 * N)
    elif case == "an id twice":
        frame["release"] = RNG.permutation(frame["release"])
    else:
        frame = frame.drop(index=range(N + 50, 3 * N))
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        load(frame)


def test_in_several_predicted_labels_a_person_says_which_the_score_is_about() -> None:
    classes, several = RNG.integers(0, 4, N), RNG.integers(0, 4, (N, 3))
    frame = pd.DataFrame(several, columns=["predicted_a", "predicted_b", "predicted_c"])
    frame = frame.assign(label=classes, risk=P)
    with pytest.raises(InputError) as asked:
        load(frame)
    (problem,) = asked.value.problems
    assert problem.code == "which-predicted"
    right = [load(frame, **choice.arguments).outcome.mean() for choice in problem.choices]
    assert right == [(frame[c.arguments["predicted"]] == classes).mean() for c in problem.choices]
    # Three columns of labels are no logits of three classes.
    named = {"outcome": "label", "score": list(frame.columns[:3])}
    with pytest.raises(InputError) as refused:
        load(frame[frame["label"] < 3], **named)  # type: ignore[arg-type]
    assert [problem.code for problem in refused.value.problems] == ["labels-only"]
    assert not refused.value.problems[0].answers(refused.value.mapping)


def test_a_feature_coded_1_and_2_is_no_outcome() -> None:
    found = load(pd.DataFrame({"SEX": 1 + FEATURE, "predicted_probability": P, "employed": Y}))
    assert read_of(found) == TRUTH


def test_the_weight_of_a_person_is_no_weight_of_rows() -> None:
    weight = RNG.normal(78, 15, N).round(1)
    frame = pd.DataFrame({"patient": range(N), "weight": weight, "died": Y, "risk": P})
    with pytest.warns(InputWarning, match="row weights") as asked:
        assert load(frame).weight is None
    first, _ = asked[0].message.problem.choices  # type: ignore[union-attr]
    assert read_of(load(frame, **first.arguments)) == TRUTH


def test_a_flag_beside_an_outcome_with_unknown_rows_is_no_outcome() -> None:
    unknown = np.arange(N) % 9 == 0
    resolution = np.where(unknown, None, WORDS[Y])
    frame = pd.DataFrame({"Resolution": resolution, "public": FEATURE == 1, "forecast": P})
    with pytest.raises(InputError) as asked:
        load(frame)
    (problem,) = asked.value.problems
    (repair,) = problem.answers(asked.value.mapping)
    np.testing.assert_array_equal(load(frame, **repair).outcome, Y[~unknown])


def test_without_a_column_of_results_a_person_is_asked() -> None:
    scores = {"score1": 20 + Y, "score2": 20 + (1 - Y)}
    frame = pd.DataFrame({"neutral": FEATURE, "elo_prob1": P, **scores})
    with pytest.raises(InputError) as asked:
        load(frame)
    first, *_ = asked.value.problems[0].choices
    assert read_of(load(frame, **first.arguments)) == TRUTH


@pytest.mark.parametrize("name", ["score", "prob"])
def test_small_scores_beside_a_column_near_1_are_read(name: str) -> None:
    rng = np.random.default_rng(4)
    rare = (rng.random(N) < P / 20).astype(int)
    trust = (1.0 - rng.random(N) / 200).round(4)
    found = load(pd.DataFrame({"is_fraud": rare, name: (P / 100).round(5), "device_trust": trust}))
    assert (found.outcome_name, found.score_name) == ("is_fraud", name)


def test_percentages_fit_an_outcome_as_probabilities_do() -> None:
    frame = pd.DataFrame({"married": FEATURE, "sick": Y, "risk": 100.0 * P})
    with pytest.raises(InputError) as asked:
        load(frame)
    assert asked.value.problems[0].choices[0].arguments["outcome"] == "sick"


def test_a_score_without_a_telling_name_is_offered_if_it_fits_better() -> None:
    frame = pd.DataFrame({"actual": Y, "team_log_odds": 3.0 * FEATURE + OTHER, "stacker": P})
    with pytest.warns(InputWarning) as caught:
        found = load(frame)
    assert read_of(found) == TRUTH
    problem = caught[0].message.problem  # type: ignore[union-attr]
    assert problem.code == "which-score"
    assert problem.choices[0].arguments["score"] == "stacker"


def test_empty_cells_are_negative_only_if_a_person_says_so() -> None:
    frame = pd.DataFrame({"y": np.where(Y, "x", None), "p": P})
    with pytest.raises(InputError) as asked:
        load(frame)
    (choice,) = asked.value.problems[0].choices
    found = load(frame, **choice.arguments)
    assert read_of(found) == TRUTH
    assert found.class_names == ("(empty)", "x")
    assert found.origin is not None
    again = load(frame, exact=True, **found.origin.arguments())
    assert again.fingerprint == found.fingerprint


@pytest.mark.parametrize("word", ["AMBIGUOUS", "annulled", "void"])
def test_rows_without_a_decision_are_left_out_and_said(word: str) -> None:
    undecided = np.arange(N) % 9 == 0
    labels = np.where(undecided, word, WORDS[Y])
    frame = pd.DataFrame({"Resolution": labels, "public": FEATURE, "forecast": P})
    with pytest.warns(InputWarning, match="left out"):
        found = load(frame)
    np.testing.assert_array_equal(found.outcome, Y[~undecided])


def test_ties_are_left_out_and_said() -> None:
    result = np.where(np.arange(N) % 50 == 0, 0.5, Y)
    with pytest.warns(InputWarning, match="left out"):
        found = load(pd.DataFrame({"neutral": FEATURE, "elo_prob1": P, "result1": result}))
    assert (len(found), found.outcome_name) == (N - N // 50, "result1")


def test_small_scores_do_not_make_a_pair_with_a_column_near_1() -> None:
    rng = np.random.default_rng(1)
    score, trust = (P / 100).round(5), (1.0 - rng.random(N) / 200).round(4)
    fraud = (np.arange(N) % 20 == 0).astype(int)
    found = load(pd.DataFrame({"is_fraud": fraud, "prob": score, "device_trust": trust}))
    np.testing.assert_array_equal(found.scores, score)


def test_columns_add_up_within_the_rounding_of_print() -> None:
    values = RNG.random(1_000)
    for places in (2, 4, 9):
        first, second = values.round(places), (1.0 - values).round(places)
        assert printed_places(first) == places
        assert add_up((first, second))
        assert add_up((100.0 * first, 100.0 * second))
        off = second.copy()
        off[7] += 3 * 10.0**-places
        assert not add_up((first, off))
    assert add_up((values, 1.0 - values))
    assert not add_up((values, 1.0 - values + 1e-5))


def test_a_reading_does_not_depend_on_the_order_of_columns_or_rows() -> None:
    columns, wanted = READ["a predicted label beside two classes"]
    frame = pd.DataFrame(columns)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        found = load(frame[rng.permutation(frame.columns)])
        assert read_of(found) == wanted


def test_a_large_file_sorted_by_its_outcome_is_read_like_a_small_one() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(60_000)
    y = np.sort((rng.random(60_000) < p).astype(int))
    frame = pd.DataFrame({"label": WORDS[y], "pred": WORDS[(p > 0.5) * 1], "p": p})
    found = load(frame)
    np.testing.assert_array_equal(found.outcome, y)
    assert found.class_names == ("no", "yes")


def test_files_of_other_programs(shared: Path) -> None:
    """Nothing is read wrong without a word, and most files are read right."""
    folder = shared / "inputs"
    if not (folder / "truth.json").exists():
        pytest.skip("The files of other programs are not here.")
    counts: Counter[str] = Counter()
    silent = []
    for truth in json.loads((folder / "truth.json").read_text()):
        result = _read(folder, truth, {})
        counts[result] += 1
        named = truth.get("named")
        if "silent" in (result, named and _read(folder, truth, named)):
            silent.append(truth["file"])
    assert silent == []
    assert counts["right"] >= 60
    assert counts["warned"] <= 2


def _read(folder: Path, truth: dict, named: dict) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            content = (folder / truth["file"]).read_bytes()
            found = load(content, **named)
        except InputError:
            return "asked"
    if "readings" in truth and found.scores.ndim == 1 and found.weight is None:
        for y, p in ((found.outcome, found.scores), (1 - found.outcome, 1.0 - found.scores)):
            for reading in truth["readings"]:
                same = (len(y), y.sum()) == (reading["rows"], reading["positive"])
                if same and abs(p[y == 1].sum() - reading["score_sum_of_positives"]) < 1e-3:
                    return "right"
    if "classes" in truth and found.scores.ndim == 2:
        own = found.scores[np.arange(len(found.outcome)), found.outcome].sum()
        if abs(own - truth["score_sum_of_own_class"]) < 0.02 * len(found.outcome):
            return "right"
    return "warned" if any("score" in str(w.message) for w in caught) else "silent"


def two_files() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Outcomes, and scores of nearly the same rows in another order, with ids as text."""
    truth = pd.DataFrame({"id": np.arange(N), "outcome": Y})
    scores = pd.DataFrame({"id": (np.arange(N) + 20).astype(str), "prob": np.roll(P, -20)})
    return truth, scores.iloc[::-1].reset_index(drop=True)


@pytest.mark.parametrize("order", [1, -1])
def test_outcomes_and_scores_of_two_files_are_joined_by_their_ids(order: int) -> None:
    files = [*two_files()][::order]
    with pytest.warns(InputWarning) as said:
        found = load(files)
    (joined,) = (one.message.problem for one in said)
    assert joined.code == "joined-files"
    assert joined.facts | {"n": 380, "n_scores": 400, "n_unmatched": 40} == joined.facts
    np.testing.assert_array_equal(found.outcome, Y[20:][::-1])
    np.testing.assert_array_equal(found.scores, P[20:][::-1])


def test_files_of_two_models_are_not_joined(texts) -> None:
    truth, scores = two_files()
    both = [scores.assign(outcome=FEATURE), scores.assign(outcome=FEATURE)]
    assert len(load_models({"a": both[0], "b": both[1]})) == 2
    with texts.raises(InputError) as caught:
        load([truth, scores.assign(id="x" + scores["id"])])
    assert caught.value.problems[0].code == "unmatched"


@pytest.mark.parametrize("labels", [Y, Y.astype(bool), Y.astype(float), WORDS[Y]])
def test_categories_of_numbers_are_read_like_numbers(labels: np.ndarray) -> None:
    found = load(pd.DataFrame({"y": pd.Categorical(labels), "p": P}))
    np.testing.assert_array_equal(found.outcome, Y)


ROLES = {
    "outcome": ("y", Y),
    "score": ("p", P),
    "weight": ("sample_weight", 1.0 + FEATURE),
    "group": ("g", np.arange(N) % 50),
    "fold": ("f", np.arange(N) % 5),
    "split": ("s", np.arange(N) % 2 == 0),
    "time": ("t", pd.date_range("2024-01-01", periods=N)),
    "slices": ("c", FEATURE),
    "predicted": ("k", PREDICTED),
    "model": ("m", FEATURE),
}


@pytest.mark.parametrize("feather", [False, True])
@pytest.mark.parametrize("role", ROLES)
def test_categories_of_any_column_are_read_like_their_values(role: str, feather: bool) -> None:
    column, values = ROLES[role]
    named: dict[str, object] = {"outcome": "y", "score": "p"}
    named |= {role: [column] if role == "slices" else column}
    named |= {"split": {"test_value": True}, "model": {"model_value": 1}}.get(role, {})
    plain = pd.DataFrame({"y": Y, "p": P} | {column: values})
    data: object = plain.assign(**{column: pd.Categorical(plain[column])})
    if feather:
        buffer = io.BytesIO()
        data.to_feather(buffer)  # type: ignore[attr-defined]
        data = buffer.getvalue()
    for given in ({}, named):
        found = load(data, **given)  # type: ignore[arg-type]
        assert found.fingerprint == load(plain, **given).fingerprint  # type: ignore[arg-type]


def test_shares_and_levels_are_refused_with_what_is_supported() -> None:
    for outcome, code in ((np.round(P, 1), "shares"), (FEATURE + PREDICTED, "no-positive")):
        with pytest.raises(InputError) as refused:
            load(pd.DataFrame({"outcome": outcome, "prob": P}))
        assert [problem.code for problem in refused.value.problems] == [code]
    levels = pd.DataFrame({"outcome": Y + FEATURE, "prob": P})
    with pytest.raises(InputError) as refused:
        load(levels)
    first, second = refused.value.problems[0].choices
    assert load(levels, **first.arguments).outcome.sum() == (Y + FEATURE == 2).sum()
    assert load(levels, **second.arguments).outcome.sum() == (Y + FEATURE > 0).sum()


def test_few_predicted_positives_are_not_read_without_a_word() -> None:
    p = np.linspace(0.02, 0.35, 60).round(4)
    p[:4] = (0.52, 0.6, 0.7, 0.81)
    few = pd.DataFrame(
        {"label": np.where(p > 0.5, "Y", "N"), "probability": p, "row_id": range(60)}
    )
    with pytest.warns(InputWarning) as said:
        load(few)
    assert "perhaps-predicted" in {one.message.problem.code for one in said}
