"""Texts that people read, kept in texts.json: tests ask for codes and kinds, and for words here.

A test that asks for `texts` hands over what the code says, and the kept text must be the same:

    def test_a_bad_file(texts):
        with texts.raises(InputError):
            read(b"")
        texts(verdict.sentence)

After a sentence was rewritten in the code, `pytest --update-golden` keeps the new one.
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FILE = Path(__file__).parent / "texts.json"
# A text that is less similar than this is another sentence, not a rewritten one.
LIKENESS = 0.4
SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
# Folders, ids of saved reports and the day differ from run to run, and lists of a registry grow.
CHANGING = {
    "TEMPORARY/": r"/[^\s`'\"]*(?:pytest-of-|calib-(?:pg|disk)-)[^\s`'\"/]*/?(?:[^\s`'\"]*/)?",
    "'ID'": r"'[\w-]{22}'",
    "DAY": r"\b\d{4}-\d\d-\d\d\b",
    "among ..., got": r"among (?:\w+, ){5,}\w+, got",
}

Kept = dict[str, dict[str, str]]


def _most_like(line: str, shown: str) -> str:
    nearest = difflib.get_close_matches(line, SENTENCE.split(shown), 1, LIKENESS)
    return nearest[0] if nearest else line


def read() -> Kept:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def write(kept: Kept) -> None:
    text = json.dumps(kept, ensure_ascii=False, indent=1, sort_keys=True)
    FILE.write_text(text + "\n", encoding="utf-8")


class Texts:
    """The kept texts of one test. A new text under an old name is kept if `updated` is given."""

    def __init__(self, kept: dict[str, str], test: str, updated: dict[str, str] | None):
        self._kept = kept
        self._test = test
        self._updated = updated
        self._asked = 0

    def __call__(self, text: str, name: str | None = None) -> None:
        """The text is the one kept for this test; `name` is for one that several cases share."""
        key = self._key(name)
        if self._updated is not None:
            before = self._updated.setdefault(key, text)
            assert text == before, f"One run gave two texts for {key!r}"
            return
        assert key in self._kept, f"No text is kept for {key!r}: run pytest --update-golden"
        # If this fails and the new text is meant, run pytest --update-golden.
        assert text == self._kept[key]

    @contextmanager
    def raises(
        self, error: type[BaseException], name: str | None = None
    ) -> Iterator[pytest.ExceptionInfo]:
        """The block raises the error with the kept text."""
        with pytest.raises(error) as caught:
            yield caught
        said = str(caught.value)
        for instead, pattern in CHANGING.items():
            said = re.sub(pattern, instead, said)
        self(said, name)

    def shown(self, among: str | Iterable[str], name: str | None = None) -> None:
        """Each line of the kept text is in what is shown.

        An update keeps the sentences that are most like them. A sentence that was written quite
        anew is put into texts.json by hand.
        """
        key = self._key(name)
        assert key in self._kept, f"Write what should be shown under {key!r} into {FILE.name}"
        lines = self._kept[key].split("\n")
        shown = " ".join([among] if isinstance(among, str) else among)
        if self._updated is not None:
            lines = [line if line in shown else _most_like(line, shown) for line in lines]
        assert [line for line in lines if line not in shown] == []
        if self._updated is not None:
            self._updated[key] = "\n".join(lines)

    def _key(self, name: str | None) -> str:
        if name is not None:
            return f"{self._test.partition('[')[0]}: {name}"
        self._asked += 1
        return self._test if self._asked == 1 else f"{self._test} ({self._asked})"
