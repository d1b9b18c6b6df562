"""Each problem is found, says where, and is gone after its repair."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import calib
from calib.loading import Columns, InputWarning, Problem, assess, guess, load, read
from calib.loading.checking.inspection import checklist_of, examine
from calib.loading.table import Table
from tests.assessed import inspect
from tests.golden import Texts

PLAIN = Columns(outcome="y", score="p", positive="1")

RNG = np.random.default_rng(2)
P = RNG.uniform(0.02, 0.98, 600)
Y = (RNG.random(600) < P).astype(int)
GRID = np.linspace(0.02, 0.92, 3000)
LOGIT = np.log(P / (1 - P))


def table(y: object = Y, p: object = P, **more: object) -> Table:
    return read(pd.DataFrame({"y": y, "p": p, **more}))


def with_cell(values: object, row: int, cell: object) -> list[object]:
    cells = list(values)  # type: ignore[call-overload]
    cells[row] = cell
    return cells


def codes(found: Table, mapping: Columns) -> set[str]:
    return {problem.code for problem in inspect(found, mapping)}


CASES: dict[str, tuple[Table, str, str]] = {
    "percentages": (table(p=100 * P), "percent", "Divide by 100"),
    "ratings": (table(p=np.ceil(10 * P)), "ratings", "Divide by 10"),
    "log-odds": (table(p=LOGIT), "logit", "Apply the sigmoid"),
    "logarithms": (
        read(pd.DataFrame({"y": Y, "answer_logprob": np.log(P)})),
        "logarithms",
        "Apply the exponential",
    ),
    "a little outside": (table(p=1.08 * P - 0.04), "slightly-outside", "Clip to [0, 1]"),
    "missing outcome": (table(y=with_cell(Y, 4, None)), "missing", "Leave these rows out"),
    "missing score": (table(p=with_cell(P, 4, np.nan)), "missing", "Leave these rows out"),
    "infinite score": (table(p=with_cell(P, 4, np.inf)), "infinite", "Leave these rows out"),
    "text": (table(p=with_cell(P, 4, "n.a.?")), "text", "Leave these rows out"),
    # The AUC of 0.446 is above 0.4, and with this number of rows not due to chance.
    "a little reversed": (
        table(y=np.repeat([1, 0], 3000), p=np.tile(GRID, 2) + np.repeat([0.0, 0.05], 3000)),
        "swapped",
        "Swap the classes",
    ),
    "negative weight": (
        table(sample_weight=with_cell(P, 4, -1)),
        "weights",
        "Leave these rows out",
    ),
    "missing weight": (
        table(sample_weight=with_cell(P, 4, None)),
        "missing",
        "Leave these rows out",
    ),
    "weights over 300 decades": (
        table(sample_weight=np.geomspace(1e-150, 1e150, 600)),
        "weights",
        "Ignore the weights",
    ),
    "weights too unequal": (
        table(sample_weight=np.geomspace(1e-9, 1e9, 600)),
        "weights",
        "Ignore the weights",
    ),
    "three labels": (
        table(y=np.where(Y == 1, "cat", np.tile(["dog", "cow"], 300))),
        "no-positive",
        f"Positive class: cat ({Y.mean():.1%} of rows), all others negative",
    ),
    "three parts": (
        table(split=["test", "valid", "cal"] * 200),
        "split-values",
        "Ignore the split column",
    ),
    "training rows": (
        table(split=["test", "train"] * 300),
        "train-rows",
        "Ignore the split column",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_found_and_gone_after_its_repair(case: str) -> None:
    found, code, label = CASES[case]
    mapping = guess(found)
    problem = next(one for one in inspect(found, mapping) if one.code == code)
    assert problem.repair_label == label
    assert problem.repair is not None
    after = inspect(found, problem.repair)
    assert code not in {one.code for one in after}
    assert not [one for one in after if one.severity == "error"]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("name", ["logprob", "log_prob", "logp", "Log-Probability"])
def test_logarithms_of_probabilities_are_asked_about_and_converted(
    name: str, kind: str, texts
) -> None:
    frame = pd.DataFrame({"correct": Y, name: np.log(P)})
    text = (
        frame.to_csv(index=False) if kind == "csv" else frame.to_json(orient="records", lines=True)
    )
    with texts.raises(calib.InputError) as caught:
        calib.load(text.encode())
    assert caught.value.problems[0].code == "logarithms"
    converted = calib.load(text.encode(), transform="exp")
    np.testing.assert_allclose(converted.scores, P, rtol=1e-9)
    assert "transform: exp" in converted.read_as


def test_scores_that_are_never_above_0_are_logarithms_or_log_odds() -> None:
    found = table(p=np.log(P))
    (problem,) = (one for one in inspect(found, guess(found)) if one.severity == "error")
    arguments = [choice.arguments for choice in problem.choices]
    assert arguments == [{"transform": "exp"}, {"transform": "logit"}]


def test_probabilities_with_the_name_of_logarithms_are_said_to_be_read_so() -> None:
    found = read(pd.DataFrame({"y": Y, "logprob": P}))
    assert "no-logarithms" in codes(found, guess(found))


def test_a_logarithm_may_be_infinite_or_rounded_but_not_above_0(texts) -> None:
    logarithm = np.log(P)
    logarithm[:2] = -np.inf, 1e-9
    scores = calib.load(pd.DataFrame({"y": Y, "p": logarithm}), transform="exp").scores
    assert scores[:2].tolist() == [0.0, 1.0]
    with texts.raises(calib.InputError) as caught:
        calib.load(pd.DataFrame({"y": Y, "p": logarithm + 0.5}), transform="exp")
    assert caught.value.problems[0].code == "outside"


def test_of_the_labels_1_and_2_either_may_be_positive() -> None:
    found = table(y=Y + 1)
    problem, *others = inspect(found, guess(found))
    assert problem.code == "no-positive"
    assert problem.repair is not None
    # Rows of the label 2 have the higher scores here.
    assert problem.repair.positive == "2"
    assert [choice.arguments for choice in problem.choices] == [{"positive": "1"}]
    assert not others
    # No rate of positive rows before one of them is chosen.
    checklist = checklist_of(examine(found, guess(found))[1])
    assert not [line for line in checklist if "positive" in line]


def test_exchanged_columns() -> None:
    found = table()
    mapping = Columns(outcome="p", score="y")
    problem = inspect(found, mapping)[0]
    assert problem.code == "many-labels"
    assert problem.repair == PLAIN
    assert inspect(found, problem.repair) == ()


NO_REPAIR = {
    "constant": (table(p=np.full(600, 0.3)), "constant"),
    "labels": (table(p=(P > 0.5).astype(int)), "labels-only"),
    "the outcome": (table(p=Y), "labels-only"),
    "one class": (table(y=np.ones(600)), "one-class"),
    "single row of a class": (table(y=np.arange(600) == 3), "too-few"),
    "few": (table(y=np.arange(600) < 40), "few"),
    "scores from 0 to 1,000": (table(p=1000 * P), "thousandths"),
    "large numbers": (table(p=9000 * P), "not-probabilities"),
    "a code for missing scores": (
        table(p=np.where(np.arange(len(P)) % 50 == 0, 999, (100 * P).round())),
        "missing-code",
    ),
}


@pytest.mark.parametrize("case", NO_REPAIR)
def test_found(case: str) -> None:
    found, code = NO_REPAIR[case]
    assert code in codes(found, Columns(outcome="y", score="p", positive=guess(found).positive))


def test_a_button_says_how_many_rows_it_leaves_out_and_none_leaves_out_many_labels() -> None:
    def problem_of(y: object, code: str) -> Problem:
        found = table(y=y)
        mapping = guess(found, Columns(outcome="y", score="p"))
        return next(one for one in inspect(found, mapping) if one.code == code)

    many = problem_of(np.where(np.arange(len(Y)) % 10, Y.astype(float), np.nan), "missing")
    assert many.repair is not None
    assert many.repair.drop_missing
    assert many.repair_label == "Leave out 60 of 600 rows (10.0%)"
    for n, has_button in ((2, True), (100, False)):
        labels = np.where(np.arange(len(Y)) < n, "odd", np.where(Y == 1, "1", "0"))
        asked = problem_of(labels, "no-positive")
        assert asked.repair is not None
        assert bool(asked.repair_label) == has_button


def test_a_good_table_has_no_problem() -> None:
    assert inspect(table(), guess(table())) == ()


@pytest.mark.parametrize("shift", [-0.08, -0.05, -0.02, 0.0])
def test_counted_ranges_of_scores_do_not_change_who_is_called_swapped(shift: float) -> None:
    rng = np.random.default_rng(3)
    for n in (200, 2_000, 20_000):
        # Most scores lie in one of the ranges that are counted.
        score = np.where(rng.random(n) < 0.9, 1e-6 * rng.random(n), rng.random(n))
        y = (rng.random(n) < 0.5 + shift * np.sign(score - np.median(score))).astype(int)
        deviation = math.sqrt((n + 1) / (12 * y.sum() * (n - y.sum())))
        swapped = roc_auc_score(y, score) < 0.5 - 4 * deviation
        found = codes(table(y=y, p=score), PLAIN)
        assert ("swapped" in found) == swapped


def test_noise_around_half_is_not_called_swapped() -> None:
    for seed in range(20):
        noise = np.random.default_rng(seed).random(600)
        assert "swapped" not in codes(table(p=noise), PLAIN)


WORDS = np.where(Y == 1, "yes", "no")
RATE, AUC = Y.mean(), roc_auc_score(Y, P)


@pytest.mark.parametrize(("y", "negative"), [(Y, "0"), (WORDS, "no")])
def test_reversed_scores_are_one_question_whose_answers_say_what_follows(
    y: object, negative: str, texts: Texts
) -> None:
    found = table(y=y, p=1 - P)
    mapping = guess(found)
    (asked,) = inspect(found, mapping)
    assert (asked.severity, asked.repair) == ("question", None)
    texts(asked.sentence)
    swap, count, as_it_is = asked.choices
    for choice, rate, auc in (
        (swap, RATE, AUC),
        (count, 1 - RATE, AUC),
        (as_it_is, RATE, 1 - AUC),
    ):
        assert choice.label.endswith(f"({rate:.1%} positive, AUC {auc:.3f})")
        # Each answer gives the rows that it names, and settles the question.
        chosen = mapping.chosen(**choice.arguments)
        (made,) = assess([found], chosen).models.values()
        assert made.outcome.mean() == pytest.approx(rate)
        assert roc_auc_score(made.outcome, made.scores) == pytest.approx(auc)
        assert "question" not in {one.severity for one in inspect(found, chosen)}
    assert count.arguments == {"positive": negative}
    assert swap.arguments == {"swap": True}


@pytest.mark.parametrize("names", [("A", "B"), ("B", "A"), (2, 4), (4, 2)])
def test_classes_that_no_name_tells_are_one_question_although_the_scores_agree(
    names: tuple[object, object], texts: Texts
) -> None:
    found = table(y=np.where(Y == 1, names[1], names[0]), p=P)
    mapping = guess(found)
    (asked,) = [one for one in inspect(found, mapping) if one.severity == "question"]
    if names[1] != 2:  # The larger of two numbers is offered first, and here it is reversed.
        texts(asked.sentence)
        assert [choice.label for choice in asked.choices] == [
            f"Positive class: {names[1]} ({RATE:.1%} positive, AUC {AUC:.3f})",
            f"Positive class: {names[0]} ({1 - RATE:.1%} positive, AUC {1 - AUC:.3f})",
        ]
    for choice in asked.choices:
        after = inspect(found, mapping.chosen(**choice.arguments))
        assert "question" not in {one.severity for one in after}
    with pytest.warns(InputWarning, match="positive="):
        load(found.frame)


@pytest.mark.parametrize(
    "names", [("0", "1"), ("no", "yes"), ("ham", "spam"), ("-1", "1"), ("good", "bad")]
)
def test_classes_whose_names_tell_are_no_question(names: tuple[str, str]) -> None:
    found = table(y=np.where(Y == 1, names[1], names[0]), p=P)
    assert not [one for one in inspect(found, guess(found)) if one.severity == "question"]


def test_a_swap_that_reverses_the_scores_is_asked_about() -> None:
    found = table()
    mapping = guess(found).chosen(swap=True)
    (asked,) = inspect(found, mapping)
    assert asked.choices[0].arguments == {"swap": False}


def test_reversed_scores_of_all_models_are_one_question_and_those_of_one_are_none() -> None:
    both = read(pd.DataFrame({"y": Y, "prob_a": 1 - P, "prob_b": 1 - P}))
    mapping = guess(both, models=True)
    asked = assess([both], mapping).problems[0]
    assert asked.severity == "question"
    for choice in asked.choices:
        after = assess([both], mapping.chosen(**choice.arguments))
        assert "question" not in {one.severity for one in after.problems}
        assert len(after.models) == 2
    one = read(pd.DataFrame({"y": Y, "prob_a": 1 - P, "prob_b": P**2}))
    told = assess([one], guess(one, models=True)).problems
    assert [(each.severity, each.choices) for each in told if each.code == "which-class"] == [
        ("warning", ())
    ]


def test_load_warns_of_reversed_scores_and_names_what_settles_it(texts: Texts) -> None:
    frame = pd.DataFrame({"y": WORDS, "p": 1 - P})
    with pytest.warns(InputWarning) as caught:
        load(frame)
    texts(str(caught[0].message))
    assert caught[0].filename == __file__
    for named in ({"swap": True}, {"positive": "no"}, {"score": "p", "positive": "yes"}):
        load(frame, **named)  # A warning would be an error here.


def test_swap_tells_the_auc() -> None:
    # One of the four pairs of a positive and a negative row is in order, so AUC is 1/4.
    found = read(pd.DataFrame({"y": [1, 0, 1, 0] * 100, "p": [0.1, 0.4, 0.6, 0.8] * 100}))
    problem = next(one for one in inspect(found, PLAIN) if one.code == "swapped")
    assert "AUC 0.250" in problem.sentence


def sentence(found: Table, code: str) -> str:
    return next(one.sentence for one in inspect(found, guess(found)) if one.code == code)


def test_rows_are_numbered_as_a_spreadsheet_does(texts: Texts) -> None:
    rows = [f"{y},{p}" for y, p in zip(Y, P, strict=True)]
    rows[3] = "1,"
    rows[10] = "1,"
    text = "\n".join(rows)
    texts.shown(sentence(read("y,p\n" + text), "missing"))
    texts.shown(sentence(read(text), "missing"))


def test_rows_of_the_test_file_are_told_apart(texts: Texts) -> None:
    second = read("y,p\n0,0.25\n1,\n1,0.9\n0,0.1\n")
    problem = inspect(table(), PLAIN, second)[0]
    texts.shown(problem.sentence)


def test_text_shows_the_first_cells(texts: Texts) -> None:
    text = sentence(table(p=with_cell(P, 4, "high")), "text")
    texts.shown(text)


def test_percent_signs_and_decimal_commas_are_understood() -> None:
    found = table(p=[f"{100 * p:.9f}%" for p in P])
    assert codes(found, guess(found)) == {"rewritten"}
    found = read(pd.DataFrame({"y": Y, "p": [f"{p:.9f}".replace(".", ",") for p in P]}))
    assert codes(found, guess(found)) == {"rewritten"}


def test_rounding_is_no_problem() -> None:
    assert inspect(table(p=with_cell(P, 4, 1 + 1e-7)), PLAIN) == ()


def test_what_the_test_file_lacks(texts: Texts) -> None:
    second = read("y,q\n0,0.25\n1,0.7\n")
    (problem,) = inspect(table(), PLAIN, second)
    assert problem.code == "no-column"
    texts.shown(problem.sentence)


def test_the_same_file_twice() -> None:
    (problem,) = inspect(table(), guess(table()), table())
    assert (problem.code, problem.severity) == ("overlap", "warning")


def test_both_parts_need_both_classes() -> None:
    found = table(split=np.where(Y == 1, "cal", "test"))
    assert [one.code for one in inspect(found, guess(found))] == ["one-class", "one-class"]


def test_test_value_must_be_there() -> None:
    found = table(split=["a", "b"] * 300)
    mapping = Columns(outcome="y", score="p", positive="1", split="split", test_value="c")
    problem = inspect(found, mapping)[0]
    assert problem.code == "test-value"
    assert "`a` and `b`; got `c`" in problem.sentence


def test_errors_stand_first() -> None:
    order = {"error": 0, "question": 1, "warning": 2, "note": 3}
    found = table(p=with_cell(with_cell(1 - P, 4, "?!"), 5, "12%"))
    ranks = [order[one.severity] for one in inspect(found, guess(found))]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) > 1


def test_choices_that_are_open() -> None:
    assert codes(table(), Columns()) == {"no-outcome", "no-score"}
    assert codes(table(), Columns(outcome="p", score="p")) == {"same-column"}
    assert codes(table(), Columns(outcome="y", score="absent")) == {"no-column"}


def test_checklist(texts) -> None:
    found = read("label,p,sex\nspam,0.9,f\nham,0.25,m\nham,0.5,f\n")
    texts("\n".join(assess([found], guess(found)).checklist))


def test_problems_are_values() -> None:
    assert Problem("note", "no-rows.left") == Problem("note", "no-rows.left")
    assert len({Columns(outcome="y", score="p"), Columns(outcome="y", score="p")}) == 1
