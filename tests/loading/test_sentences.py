"""The table of sentences has what the code asks for, and nothing else."""

import ast
import re
from pathlib import Path

import pytest

import calib
from calib.loading.problems import FORMS, PART, SENTENCES, WRITER, error, sentence

NOUNS = {
    *("answer", "cell", "character", "class", "column", "confidence", "label", "line", "logit"),
    *("gold label", "judged row", "other", "row", "score", "score column", "value"),
}
CODE = Path(calib.__file__).parent


def fields(text: str) -> list[tuple[str, str]]:
    parts = WRITER.parse(PART.sub(lambda match: match[1], text))
    return [(name, form or "") for _, name, form, _ in parts if name is not None]


def literals() -> set[str]:
    """Every text in the code, with * for what an f-string fills in."""
    texts = set()
    for path in CODE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            if isinstance(node, ast.JoinedStr):
                texts.add(
                    "".join(
                        getattr(part, "value", "*") if isinstance(part, ast.Constant) else "*"
                        for part in node.values
                    )
                )
    return texts


def test_every_form_of_a_fact_is_known() -> None:
    for key, text in SENTENCES.items():
        for name, form in fields(text):
            known = form in FORMS or form in NOUNS or form.isdecimal() or "/" in form or not form
            assert known, (key, name, form)


def test_no_sentence_is_left_over() -> None:
    said = literals()
    patterns = [
        re.compile(re.escape(text).replace(r"\*", ".+"))
        for text in said
        if "*" in text and len(text) < 40
    ]
    unused = [
        key
        for key in SENTENCES
        if not key.startswith("_")
        and key not in said
        and not any(pattern.fullmatch(key) for pattern in patterns)
    ]
    assert unused == []


def calls() -> list[tuple[str, str]]:
    """The keys of all problems that the code makes, and where."""
    found = []
    for path in CODE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.Call) and getattr(node.func, "id", "")
            if named in ("error", "question", "warning", "note", "refuse") and len(node.args) == 1:
                key = node.args[0]
                if isinstance(key, ast.Constant):
                    found.append((str(key.value), f"{path.name}:{node.lineno}"))
    return found


def test_every_problem_has_a_sentence() -> None:
    keys = calls()
    assert len(keys) > 150
    assert [(key, place) for key, place in keys if key not in SENTENCES] == []


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"zone": "UTC"}, "in `UTC`, the time zone"),
        ({"zone": ""}, "in the time zone"),
        ({}, "in the time zone"),
    ],
)
def test_a_part_without_its_fact_is_left_out(facts: dict[str, str], text: str) -> None:
    assert text in sentence("time-zone.connection", {"column": "at"} | facts)


def test_text_of_a_file_cannot_be_markup() -> None:
    problem = error("same-column", column="`x` ![](http://host/y)\n# {auc}")
    assert "`'x' ![](http://host/y) # {auc}`" in problem.sentence


def test_a_problem_of_one_model_names_it() -> None:
    facts = {"column": "y", "of_model": "new", "n_others": 2}
    assert sentence("no-labels", facts).startswith("Model `new` (and 2 others): The outcome")
