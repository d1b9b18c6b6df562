"""Words that may mean "missing", and labels of many spellings."""

import io

import numpy as np
import pandas as pd
import pytest

from calib.loading import InputError, assess, guess, load, read
from calib.loading.columns import as_outcome, class_text, label_text
from tests.assessed import inspect
from tests.golden import Texts

RNG = np.random.default_rng(20)
N = 1_000
P = RNG.beta(2, 3, N)
TRUTH = RNG.random(N) < P
WORDS = ["NA", "None", "null", "nan", "N/A"]


def stored(frame: pd.DataFrame, kind: str) -> object:
    if kind == "frame":
        return frame
    if kind == "csv":
        return frame.to_csv(index=False)
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_words_are_slices_of_their_own_beside_empty_cells(kind: str, texts: Texts) -> None:
    region = np.array([*WORDS, "EU", None], dtype=object)[np.arange(N) % 7]
    frame = pd.DataFrame({"y": TRUTH.astype(int), "p": P, "region": region})
    data = stored(frame, kind)
    found = load(data)  # type: ignore[arg-type]
    values, counts = np.unique(found.columns["region"], return_counts=True)
    assert set(values.tolist()) == {*WORDS, "EU", "(missing)"}
    assert dict(zip(values.tolist(), counts.tolist(), strict=True))["NA"] == 143
    table = read(data)  # type: ignore[arg-type]
    told = [each for each in inspect(table, guess(table)) if each.code == "missing-words"]
    assert len(told) == 1
    texts.shown(told[0].sentence)


def test_a_slice_called_missing_is_not_the_empty_one() -> None:
    region = np.array(["(missing)", "EU", ""], dtype=object)[np.arange(N) % 3]
    text = pd.DataFrame({"y": TRUTH.astype(int), "p": P, "region": region}).to_csv(index=False)
    assert len(set(load(text).columns["region"].tolist())) == 3


def test_words_are_classes_where_a_column_is_named_after_them() -> None:
    scores = RNG.dirichlet(np.ones(3), N)
    names = ["NA", "EU", "AS"]
    labels = np.array(names)[RNG.integers(0, 3, N)]
    text = pd.DataFrame(scores, columns=[f"p_{name}" for name in names]).assign(y=labels)
    found = load(text.to_csv(index=False))
    assert found.class_names == tuple(names)
    np.testing.assert_array_equal(found.outcome, [names.index(label) for label in labels])


def test_words_among_numbers_are_missing_and_counted(texts: Texts) -> None:
    score = [f"{p:.6f}" for p in P]
    score[3], score[5], score[8] = "NA", "nan", "null"
    text = pd.DataFrame({"y": TRUTH.astype(int), "p": score}).to_csv(index=False)
    with texts.raises(InputError):
        load(text)
    found = load(text, drop_missing=True)
    assert dict(found.set_aside) == {"score missing": 3}


def test_an_outcome_with_words_for_unknown_leaves_these_rows_out(texts: Texts) -> None:
    y = TRUTH.astype(int).astype(object)
    y[:40], y[40:60] = "NA", "?"
    text = pd.DataFrame({"y": y, "p": P}).to_csv(index=False)
    with texts.raises(InputError):
        load(text)
    found = load(text, drop_missing=True)
    np.testing.assert_array_equal(found.outcome, TRUTH[60:])
    assert dict(found.set_aside) == {"outcome unknown": 60}


# The outcome of 150 of the 1,000 rows is unknown.
SPELLED = np.where(
    TRUTH,
    np.array(["yes", "Yes", "YES ", " yes"])[np.arange(N) % 4],
    np.array(["no", "No", "NO"])[np.arange(N) % 3],
).astype(object)
SPELLED[:100], SPELLED[100:150] = "unknown", "n/a"
KNOWN = TRUTH[150:]


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_spellings_of_a_label_are_one_label(kind: str) -> None:
    data = stored(pd.DataFrame({"y": SPELLED, "p": P}), kind)
    found = load(data, drop_missing=True)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found.outcome, KNOWN)
    assert dict(found.set_aside) == {"outcome unknown": 150}
    for positive in ("yes", "YES", ["Yes"]):
        again = load(data, positive=positive, drop_missing=True)  # type: ignore[arg-type]
        np.testing.assert_array_equal(again.outcome, KNOWN)


def test_the_repair_counts_all_spellings_and_no_unknown_word() -> None:
    words = SPELLED.copy()
    words[150:] = np.where(KNOWN & (np.arange(850) % 5 == 0), "Y", words[150:])
    table = read(pd.DataFrame({"y": words, "p": P}).to_csv(index=False))
    mapping = guess(table)
    problem = next(one for one in inspect(table, mapping) if one.code == "no-positive")
    assert problem.repair is not None
    rate = KNOWN.mean()
    assert f"{rate:.1%}" in problem.repair_label
    assert set(problem.repair.positives) == {"Y", "yes"} or "yes" in {
        name.casefold() for name in problem.repair.positives
    }
    (found,) = assess([table], problem.repair).models.values()
    np.testing.assert_array_equal(found.outcome, KNOWN)
    assert "positive-class" not in {one.code for one in inspect(table, problem.repair)}


def test_several_labels_can_be_positive(tmp_path) -> None:
    stage = np.where(TRUTH, np.array(["III", "IV"])[np.arange(N) % 2], "I")
    path = tmp_path / "rows.csv"
    pd.DataFrame({"stage": stage, "p": P}).to_csv(path, index=False)
    found = load(path, outcome="stage", score="p", positive=["III", "IV"])
    np.testing.assert_array_equal(found.outcome, TRUTH)
    assert found.class_names == ("I", "III or IV")
    again = load(path, exact=True, **found.origin.arguments())  # type: ignore[union-attr]
    assert (again.fingerprint, again.origin) == (found.fingerprint, found.origin)


def test_a_rate_far_from_the_scores_raises_a_question(texts: Texts) -> None:
    rare = np.where(P > 0.8, "paid", "open")
    table = read(pd.DataFrame({"y": rare, "p": 1 - P / 2}))
    mapping = guess(table).chosen(score="p", positive="paid")
    problem = next(one for one in inspect(table, mapping) if one.code == "positive-class")
    texts.shown(problem.sentence)
    assert problem.repair is not None
    assert problem.repair.positive == "open"
    after = {one.code for one in inspect(table, problem.repair)}
    assert "positive-class" not in after
    # Nobody asks which of 0 and 1 is positive, unless something was repaired.
    plain = read(pd.DataFrame({"y": (P > 0.8).astype(int), "p": 1 - P / 2}))
    assert "positive-class" not in {one.code for one in inspect(plain, guess(plain))}
    percent = read(pd.DataFrame({"y": (P > 0.8).astype(int), "p": 100 - 50 * P}))
    repaired = guess(percent).chosen(score="p", transform="percent")
    assert "positive-class" in {one.code for one in inspect(percent, repaired)}


def test_letter_case_changes_no_split_and_no_agreement() -> None:
    split = np.array(["test", "TEST", "cal", "Cal"])[np.arange(N) % 4]
    frame = pd.DataFrame({"y": TRUTH.astype(int), "p": P, "split": split})
    found = load(frame, split="split", test_value="test")
    np.testing.assert_array_equal(found.test, np.arange(N) % 4 < 2)
    labels = np.array(["cat", "dog", "cow"])[np.arange(N) % 3]
    said = np.where(TRUTH, np.char.title(labels), "none of them")
    frame = pd.DataFrame({"y": labels, "predicted": said, "p": P})
    found = load(frame, outcome="y", score="p", predicted="predicted")
    np.testing.assert_array_equal(found.outcome, TRUTH)


def dated(*odd: str) -> str:
    days = [f"2024-01-{1 + i % 28:02d}" for i in range(200)]
    days[: len(odd)] = odd
    return "y,p,date\n" + "".join(f"{i % 2},{0.2 + i / 400},{day}\n" for i, day in enumerate(days))


def test_cells_that_are_no_dates_beside_dates_are_a_problem_with_a_repair(texts: Texts) -> None:
    table = read(dated("31/02/2024", "", "soon", "NA"))
    mapping = guess(table)
    (problem,) = [each for each in inspect(table, mapping) if each.code == "dates"]
    assert problem.severity == "warning"
    # The empty cell and the word for a missing one are no surprise.
    texts.shown(problem.sentence)
    assert "`31/02/2024`: rows 2 and 4." in problem.sentence
    assert problem.repair is not None
    assert "dates" not in {each.code for each in inspect(table, problem.repair)}
    (found,) = assess([table], mapping).models.values()
    assert np.isnat(found.columns["date"]).sum() == 4


@pytest.mark.parametrize("odd", [(), ("", "NA")])
def test_dates_that_can_all_be_read_are_no_problem(odd: tuple[str, ...]) -> None:
    table = read(dated(*odd))
    assert "dates" not in {each.code for each in inspect(table, guess(table))}


@pytest.mark.parametrize(
    "written", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y 18:30", "%d %b %Y", "%Y%m%d"]
)
@pytest.mark.parametrize("kind", ["text", "file"])
def test_dates_are_read_as_they_are_written(written: str, kind: str) -> None:
    days = pd.Series(pd.date_range("2024-01-01", periods=200))
    frame = pd.DataFrame({"y": [0, 1] * 100, "p": np.linspace(0.1, 0.9, 200)})
    frame["date"] = days.dt.strftime(written)
    data = frame if kind == "text" else frame.to_csv(index=False).encode()
    found = load(data, outcome="y", score="p", time="date")
    np.testing.assert_array_equal(
        found.columns["date"].astype("datetime64[D]"), days.to_numpy("datetime64[D]")
    )


def test_day_and_month_that_could_be_exchanged_are_a_problem(texts: Texts) -> None:
    table = read(dated(*(f"{1 + i % 12:02d}/{1 + i % 7:02d}/2024" for i in range(200))))
    mapping = guess(table)
    (problem,) = [each for each in inspect(table, mapping) if each.code == "date-order"]
    texts(problem.sentence)
    assert problem.repair is not None
    assert "date-order" not in {each.code for each in inspect(table, problem.repair)}
    # Exchanged, 05/05 is the same day.
    table = read(dated(*(f"{1 + i % 12:02d}/{1 + i % 12:02d}/2024" for i in range(200))))
    assert "date-order" not in {each.code for each in inspect(table, guess(table))}


def test_numbers_that_are_no_days_stay_numbers() -> None:
    frame = pd.DataFrame({"y": [0, 1] * 100, "p": np.linspace(0.1, 0.9, 200)})
    for numbers in (20241301 + np.arange(200), 2000 + np.arange(200) % 20):
        found = load(frame.assign(time=numbers), outcome="y", score="p", time="time")
        np.testing.assert_array_equal(found.columns["time"], numbers)


SHORT = {
    "plain": ("y,p,note\n" + "0,0.2,a\n1,0.7\n" * 60, 60, "rows 3, 5, 7 and 57 more"),
    "quoted": ("y,p,note\n" + '0,0.2,"a, b"\n1,0.7,c\n' * 60 + "1,0.7\n", 1, "row 122"),
    "blank lines": ("y,p,note\n" + "\n0,0.2,a\n1,0.7,\n" * 60 + "1\n0,0.1,\n", 1, "row 122"),
    "whitespace": ("y p note\n" + "0 0.2 a\n1 0.7 b\n" * 60 + "1 0.7\n", 1, "row 122"),
    "no header": ("0,0.2,3.5\n1,0.7,4.5\n" * 60 + "1,0.7\n", 1, "row 121"),
}


@pytest.mark.parametrize("case", SHORT)
def test_rows_that_end_early_are_counted(case: str) -> None:
    text, count, where = SHORT[case]
    (note,) = [each for each in read(text).notes if each.code == "short-rows"]
    assert note.sentence.startswith(f"{count} row")
    assert f"first in {where}:" in note.sentence


@pytest.mark.parametrize(
    "text",
    [
        "y,p,note\n" + "0,0.2,a\n1,0.7,\n" * 60,
        "y,p,note,\n" + "0,0.2,a\n1,0.7,b\n" * 60,
        "y,p,note\n" + '0,0.2,"a,b"\n1,0.7,\n' * 60,
        "y,p,note\n" + "0,0.2,a,\n1,0.7,,\n" * 60,
    ],
)
def test_empty_cells_are_no_short_rows(text: str) -> None:
    assert "short-rows" not in {each.code for each in read(text).notes}


def test_a_label_is_the_same_text_as_a_number_and_as_a_word() -> None:
    values = (1.0, 0.5, True, " yes ", "1.0")
    assert [*map(label_text, values)] == ["1", "0.5", "True", "yes", "1.0"]
    assert [*map(class_text, values)] == ["1", "0.5", "True", "yes", "1"]
    labels, unknown = as_outcome(pd.Series(["Yes", "no", "YES", "yes ", "n/a", "YES"]))
    assert (labels.names, labels.codes.tolist()) == (("YES", "no"), [0, 1, 0, 0, -1, 0])
    assert unknown.tolist() == [False] * 4 + [True, False]
