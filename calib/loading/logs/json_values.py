"""JSON texts that are decoded value by value, so that a log never is in memory as a whole."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from calib.loading.problems import InputError, refuse

WINDOW_BYTES = 2**22
# A value that ends this near to the end of a window may go on after it: 12 may be 12.5.
MARGIN = 16
# The first bytes show the keys by which a format is recognised.
LOOK_BYTES = 2**18
MAX_DEPTH = 5
DECODER = json.JSONDecoder(strict=False)
BLANKS = re.compile(r"[ \t\r\n]*")
TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|[{}\[\]:,]|"|[^\s"{}\[\]:,]+')
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
            else:
                if self._ended or end < len(self._text) - MARGIN:
                    self._place = end
                    return value
            self._read_on(n_bytes)
            n_bytes *= 2

    def elements(self) -> Iterator[None]:
        """Stop before each element of a list. The caller must decode it before the next one."""
        self._expect("[")
        if self._takes("]"):
            return
        while True:
            yield
            if self._takes("]"):
                return
            self._expect(",")

    def members(self) -> Iterator[str]:
        """Keys of an object. The caller must decode the value of each before the next one."""
        self._expect("{")
        if self._takes("}"):
            return
        while True:
            key = str(self.value())
            self._expect(":")
            yield key
            if self._takes("}"):
                return
            self._expect(",")

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
        return
    while document.peek():
        number += 1
        try:
            value = document.value()
        except json.JSONDecodeError:
            if number == 1 or data.rstrip().endswith(b"}"):
                raise
            raise cut_short(number) from None
        yield as_object(value)


def cut_short(number: int) -> InputError:
    """The error about a file whose last record is not complete."""
    return refuse(
        "cut-short",
        f"The file ends in the middle of record {number:,}. Give the whole file, or remove its "
        "last line.",
    )


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, otherwise an empty list."""
    return value if isinstance(value, list) else []


def key_paths(data: bytes) -> frozenset[str]:
    """The paths of keys in the first bytes, for example "eval.task".

    An element of a list is "[]", but not one of the list that is the whole text. "*.judge_response"
    is a key of any value of the outermost object.

    >>> sorted(key_paths(b'{"eval": {"task": [{"id": 1}]}}'))
    ['*.task', '*.task.[].id', 'eval', 'eval.task', 'eval.task.[].id']
    """
    text = data[:LOOK_BYTES].decode(errors="ignore").lstrip("\ufeff")
    paths, keys = set[str](), list[str]()
    awaits_key = False
    for token in TOKEN.finditer(text):
        mark = token[0]
        if mark == '"':
            break  # The last string of the first bytes does not end in them.
        if mark in "{[":
            keys.append("[]" if mark == "[" else "")
            awaits_key = mark == "{"
        elif mark in "}]":
            keys = keys[:-1]
            awaits_key = False
        elif mark == ",":
            awaits_key = bool(keys) and keys[-1] != "[]"
        elif awaits_key and token[1] is not None:
            keys[-1] = token[1]
            awaits_key = False
            _add_path(paths, keys)
    return frozenset(paths)


def _add_path(paths: set[str], keys: list[str]) -> None:
    plain = keys[1:] if keys[0] == "[]" else keys
    if len(plain) <= MAX_DEPTH:
        paths.add(".".join(plain))
        if len(plain) > 1:
            paths.add(".".join(["*", *plain[1:]]))
