"""A short run of the fuzz suite, and the judge itself."""

import random
import warnings
from collections import Counter

import pytest

from calib.loading import Choice, InputError, Problem
from tests.fuzz import seeds
from tests.fuzz.cases import Case, Result, judged
from tests.fuzz.run import BAD, run
from tests.fuzz.seeds import case_of, smallest, source_of
from tests.rare import common_first, rare

# These inputs of long runs failed. The damaged databases among them have no smaller form.
# A name in a directory of zip, and the statistics of Parquet, with which Arrow ended the process.
DAMAGED_ONCE = (1575, 101913)
FAILED_ONCE = (4498, 4978, 7299, 18969, 439579)


@rare
@pytest.mark.parametrize("inputs", common_first([300, 3_000], [300]))
def test_every_input_is_read_right_or_refused_in_words(inputs: int) -> None:
    results = dict(run(range(inputs), jobs=1 if inputs == 300 else 2))
    bad = {seed: result for seed, result in results.items() if result.kind in BAD}
    told = [f"python -m tests.fuzz --only {seed}: {bad[seed]}" for seed in sorted(bad)]
    assert not bad, "\n".join(told)
    assert sorted(results) == list(range(inputs))
    # A reader that refused everything would pass, so some input of every source must be read.
    right = {source_of(seed) for seed, result in results.items() if result.kind == "right"}
    assert right == {source_of(seed) for seed in range(inputs)}


@rare
@pytest.mark.parametrize("inputs", common_first([100, 2_000], [100]))
def test_exports_of_other_programs_are_read_right_or_asked_about(inputs: int) -> None:
    results = dict(run(range(inputs), jobs=1 if inputs == 100 else 2, source="foreign"))
    bad = {seed: result for seed, result in results.items() if result.kind in BAD}
    told = [f"python -m tests.fuzz --source foreign --only {s}: {bad[s]}" for s in sorted(bad)]
    assert not bad, "\n".join(told)
    counts = Counter(result.kind for result in results.values())
    # Fewer than 100 of 11,000 may differ from the truth, and only with a message.
    assert 110 * counts["differs"] <= inputs
    assert 2 * counts["right"] >= inputs


@rare
@pytest.mark.parametrize("inputs", [100, 2_000])
def test_files_of_models_are_read_right_or_asked_about(inputs: int) -> None:
    results = dict(run(range(inputs), jobs=1 if inputs == 100 else 2, source="models"))
    bad = {seed: result for seed, result in results.items() if result.kind in BAD}
    told = [f"python -m tests.fuzz --source models --only {s}: {bad[s]}" for s in sorted(bad)]
    assert not bad, "\n".join(told)
    counts = Counter(result.kind for result in results.values())
    assert 100 * counts["differs"] <= inputs
    # Flags and features without telling names stand beside more than half of the outcomes.
    assert 4 * counts["right"] >= 3 * inputs


@rare
@pytest.mark.parametrize("inputs", common_first([100, 2_000], [100]))
def test_damaged_files_are_read_right_or_refused_or_told_about(inputs: int) -> None:
    results = dict(run(range(inputs), jobs=1 if inputs == 100 else 2, source="damaged"))
    bad = {seed: result for seed, result in results.items() if result.kind in BAD}
    told = [f"python -m tests.fuzz --source damaged --only {s}: {bad[s]}" for s in sorted(bad)]
    assert not bad, "\n".join(told)
    # A change that no format can show, such as another letter in a word, leaves the rows right.
    assert 20 * sum(result.kind == "right" for result in results.values()) >= inputs


@pytest.mark.parametrize("seed", DAMAGED_ONCE)
def test_what_was_damaged_once(seed) -> None:
    assert judged(case_of(seed, "damaged")).kind == "refused"


@pytest.mark.parametrize("seed", FAILED_ONCE)
def test_what_failed_once(seed) -> None:
    assert judged(case_of(seed)).kind not in BAD


def test_an_input_is_a_function_of_its_seed() -> None:
    for seed in range(60):
        assert case_of(seed).data == case_of(seed).data


def test_a_failing_input_is_shrunk(monkeypatch) -> None:
    def made(rng: random.Random) -> Case:
        letters = [rng.choice("abc") for _ in range(rng.randrange(50))]
        return Case(
            "".join(letters).encode(), len, lambda _: "odd" if letters.count("c") > 2 else ""
        )

    monkeypatch.setitem(seeds.BY_NAME, "letters", made)
    failed = Result("wrong", "values", "another detail")
    case = smallest("letters", failed)
    assert case is not None
    assert case.data == b"ccc"
    assert smallest("letters", Result("raw"), max_inputs=20) is None


def refuse(sentence: str) -> None:
    raise InputError([Problem("error", "invalid", {"message": sentence})])


def ask(sentence: str) -> None:
    choices = (Choice("This", {"decimal": ","}), Choice("That", {"decimal": "."}))
    raise InputError([Problem("error", "invalid", {"message": sentence}, choices=choices)])


@pytest.mark.parametrize(("told", "kind"), [(True, "differs"), (False, "wrong")])
def test_what_differs_with_a_message_is_not_wrong(told: bool, kind: str) -> None:
    case = Case(b"", len, lambda _: "3 for 4", told=lambda _: told)
    assert judged(case).kind == kind


@pytest.mark.parametrize(
    ("read", "wrong", "plain", "kind"),
    [
        (len, "", True, "right"),
        (len, "3 for 4", False, "wrong"),
        (lambda _: refuse("Column `KeyError` is empty. Choose another."), "", False, "refused"),
        (lambda _: refuse("The file is empty."), "", True, "wrong"),
        (lambda _: ask("Which of the two?"), "", False, "asked"),
        (lambda _: refuse("KeyError: 7."), "", False, "raw"),
        (lambda _: refuse("the file\nis odd"), "", False, "raw"),
        (lambda _: {}[7], "", False, "raw"),
        (lambda _: warnings.warn("odd", stacklevel=1), "", False, "raw"),
    ],
)
def test_the_judge(read, wrong, plain, kind) -> None:
    assert judged(Case(b"", read, lambda _: wrong, plain)).kind == kind
