"""JSON texts that are decoded value by value, so that a log never is in memory as a whole."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator, Set
from itertools import islice
from typing import Any

from calib.loading.problems import InputError, refuse

WINDOW_BYTES = 2**22
# A value that ends this near to the end of a window may go on after it: 12 may be 12.5.
MARGIN = 16
# All keys of the first bytes are found. Later ones are looked for until a format is recognised.
LOOK_BYTES = 2**18
# A text with more distinct keys that are not deep, or more strings and brackets before the keys of
# a format, is no log. Looking at them takes some seconds.
MAX_DEPTH, MAX_PATHS, MAX_TOKENS = 4, 100_000, 5_000_000


class RepeatedKey(ValueError):
    """An object has a key twice. Programs differ in which of its values they read."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKey(max(keys, key=keys.count))
    return entries


DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique)
BLANKS = re.compile(r"[ \t\r\n]*")
# A string, perhaps with the colon that makes it a key, or a bracket, or a string that is cut. The
# quantifiers do not go back, because a string can have millions of characters.
TOKEN = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(\s*:)?|[{}\[\]]|"', re.DOTALL)
BYTE_ORDER_MARK = codecs.BOM_UTF8
JSON_START = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*"|\[\s*[\[{]|\{\s*\}|\[\s*\])')


class Document:
    """A JSON text, or several values one after the other, read from the first to the last."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
        self._text, self._place = "", 0

    @property
    def _ended(self) -> bool:
        return self._next >= len(self._data)

    def _read_on(self, n_bytes: int) -> None:
        """Forget the decoded part of the window, and add bytes at its end."""
        end = self._next + n_bytes
        piece = self._data[self._next : end]
        text, used = codecs.utf_8_decode(piece, "strict", end >= len(self._data))
        self._next += used
        self._text, self._place = self._text[self._place :] + text, 0

    def peek(self) -> str:
        """The next character that is not blank, or "" at the end."""
        while True:
            blanks = BLANKS.match(self._text, self._place)
            assert blanks is not None
            self._place = blanks.end()
            if self._place < len(self._text):
                return self._text[self._place]
            if self._ended:
                return ""
            self._read_on(WINDOW_BYTES)

    def value(self) -> Any:
        """Decode the next value."""
        self.peek()
        n_bytes = WINDOW_BYTES
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._place)
            except json.JSONDecodeError as error:
                inside = error.pos < len(self._text) - MARGIN
                if self._ended or (inside and not error.msg.startswith("Unterminated")):
                    raise
            except RepeatedKey as error:
                raise self._repeated(str(error)) from None
            else:
                if self._ended or end < len(self._text) - MARGIN:
                    self._place = end
                    return value
            self._read_on(n_bytes)
            n_bytes *= 2

    def elements(self) -> Iterator[str]:
        """Stop before each element of a list. The caller must decode it before the next one."""
        return self._parts("[", "]", lambda: "")

    def members(self) -> Iterator[str]:
        """Keys of an object. The caller must decode the value of each before the next one."""
        keys = set[str]()

        def key() -> str:
            name = str(self.value())
            if name in keys:
                raise self._repeated(name)
            keys.add(name)
            self._expect(":")
            return name

        return self._parts("{", "}", key)

    def _parts(self, first: str, last: str, key: Callable[[], str]) -> Iterator[str]:
        self._expect(first)
        if self._takes(last):
            return
        while True:
            yield key()
            if self._takes(last):
                return
            self._expect(",")

    def end(self) -> None:
        """Refuse a text that goes on after its value, because the rest would be ignored."""
        if self.peek():
            raise refuse("several-values.logs")

    def _repeated(self, key: str) -> InputError:
        place = self._next - len(self._text[self._place :].encode())
        return refuse("repeated-key", name=key, line=self._data.count(b"\n", 0, place) + 1)

    def _takes(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self._place += 1
        return True

    def _expect(self, character: str) -> None:
        if not self._takes(character):
            raise ValueError(f"{character} is missing")


def records(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a list, or of JSON Lines. Raises InputError if the last one is cut."""
    document, number = Document(data), 0
    if document.peek() == "[":
        for _ in document.elements():
            yield as_object(document.value())
        document.end()
        return
    while document.peek():
        number += 1
        try:
            value = document.value()
        except json.JSONDecodeError:
            if number == 1 or data.rstrip().endswith(b"}"):
                raise
            raise refuse("cut-short.record", number=number) from None
        yield as_object(value)


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, otherwise an empty list."""
    return value if isinstance(value, list) else []


def key_paths(data: bytes, enough: Callable[[Set[str]], bool] = lambda _: False) -> Set[str]:
    """The paths of keys, for example "eval.task", in as much of a text as shows its format.

    An element of a list is "[]", but not one of the list that is the whole text. "*.judge_response"
    is a key of any value of the outermost object. Beyond the first bytes, the search ends with the
    record in which it is, or as soon as the paths are `enough`.

    >>> sorted(key_paths(b'{"eval": {"task": [{"id": 1}]}}'))
    ['*.task', '*.task.[].id', 'eval', 'eval.task', 'eval.task.[].id']
    """
    paths, keys = set[str](), list[str]()
    for token in islice(TOKEN.finditer(data), MAX_TOKENS):
        mark, far = data[token.start()], token.start() >= LOOK_BYTES
        if mark in b"{[":
            keys.append("[]" if mark in b"[" else "")
        elif mark in b"}]":
            del keys[-1:]
            if far and keys in ([], ["[]"]):
                break
        elif token.end() - token.start() == 1:
            break  # The string is cut, so no key can follow.
        elif token[2] and keys and keys[-1] != "[]":
            keys[-1] = token[1].decode(errors="replace")
            n_paths = len(paths)
            _add_path(paths, keys)
            if len(paths) > n_paths and (len(paths) > MAX_PATHS or (far and enough(paths))):
                break
    return paths


def _add_path(paths: set[str], keys: list[str]) -> None:
    first = keys[0] == "[]"
    if len(keys) - first <= MAX_DEPTH:
        plain = keys[first:]
        paths.add(".".join(plain))
        if len(plain) > 1:
            paths.add(".".join(["*", *plain[1:]]))
