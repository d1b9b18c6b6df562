"""Logs of Inspect: an .eval file, which is a zip archive, or one JSON object."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from typing import Any

import pyarrow as pa

from calib.loading.logs.rows import (
    NO_SOURCE,
    STATED,
    TOKEN,
    Document,
    Log,
    LogRow,
    as_list,
    as_object,
    errors_note,
    name_of,
    number_of,
    of_each_scorer,
    probability_of_log,
    text_of,
)
from calib.loading.problems import InputError, note, refuse, warning
from calib.loading.reading.archives import (
    DAMAGE,
    LOCAL_HEADER_BYTES,
    check_whole,
    in_pieces,
    members_of,
)
from calib.loading.reading.budget import Budget

NAME = "Inspect"
START, HEADER = "_journal/start.json", "header.json"  # An .eval file has one of these members.
SAMPLE = re.compile(r"samples/.+\.json")
JOURNAL = re.compile(r"_journal/summaries/.+\.json")
# Inspect gives letters these values, and counts "N" (no answer) as wrong.
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "correct": 1.0, "no": 0.0, "false": 0.0, "incorrect": 0.0}
CONFIDENCE_KEYS = ("confidence", "conf", "verbalized_confidence", "p_true")
MAX_EXAMPLE_LENGTH = 40
ARCHIVES = (".eval", ".zip", ".gz", ".bz2", ".xz", ".zst", ".tar", ".tgz", ".7z")
ZSTANDARD, ENCRYPTED = 93, 0x1


class _Reader:
    """Samples one after the other, and what is left out."""

    def __init__(self) -> None:
        self.log = Log(NAME)
        self.errors = self.invalid = self.no_answer = 0
        self.unread = dict[str, list[str]]()
        self.empty = list[tuple[str, dict[str, Any]]]()

    def add(self, sample: dict[str, Any]) -> None:
        """Add the rows of a sample, one per scorer."""
        about: dict[str, Any] = {
            "sample": name_of(sample.get("id")),
            "epoch": _epoch(sample.get("epoch")),
        }
        if sample.get("invalidation"):
            self.invalid += 1
            self.log.rows.append(LogRow(**about, grade=None))
            return
        scores = as_object(sample.get("scores"))
        if not scores:
            self.errors += bool(sample.get("error"))
            self.log.rows.append(LogRow(**about, grade=None))
            return
        # A single score without a name is of an early version.
        for scorer, score in scores.items():
            self._add_score(sample, str(scorer), as_object(score), about)

    def _add_score(
        self, sample: dict[str, Any], scorer: str, score: dict[str, Any], about: dict[str, Any]
    ) -> None:
        confidence, source = _confidence(sample, score)
        about |= {
            "confidence": confidence,
            "source": source,
            "answer": text_of(score.get("answer")),
            "explanation": text_of(score.get("explanation")),
        }
        value = score.get("value")
        self.no_answer += value == "N"
        if not isinstance(value, dict):
            self._add_row(name_of(scorer), value, about)
            return
        parts = {key: part for key, part in value.items() if key not in CONFIDENCE_KEYS}
        for key, part in parts.items():
            self._add_row(name_of(f"{scorer}.{key}"), part, about)
        if not parts:
            self.empty.append((scorer, about.copy()))

    def _add_row(self, scorer: str, value: Any, about: dict[str, Any]) -> None:
        grade = _grade(value)
        # A score that is NaN or null was not given, whereas a text was.
        if grade is None and isinstance(value, str | list | dict) and text_of(value).strip():
            self.unread.setdefault(scorer, []).append(text_of(value, MAX_EXAMPLE_LENGTH))
        self.log.rows.append(LogRow(**about, grade=grade, scorer=scorer))

    def finished(self, header: dict[str, Any]) -> Log:
        """The log with the names of its header, and notes."""
        evaluation = as_object(header.get("eval"))
        self.log.task, self.log.model = (name_of(evaluation.get(k)) for k in ("task", "model"))
        names = list(dict.fromkeys(row.scorer for row in self.log.rows))
        for scorer, about in self.empty:
            # A score without any value counts as not scored by each of the scorer's parts.
            parts = [name for name in names if name.startswith(f"{scorer}.")]
            for name in parts or [name_of(scorer)]:
                self.log.rows.append(LogRow(**about, grade=None, scorer=name))
        of_each_scorer(self.log)
        self._note_left_out()
        status = header.get("status", "started")
        if status != "success":
            total = as_object(evaluation.get("dataset")).get("samples")
            n_samples = len({(row.sample, row.epoch) for row in self.log.rows})
            of = total if isinstance(total, int) else None
            self.log.notes.append(warning("unfinished", n=n_samples, total=of))
        return self.log

    def _note_left_out(self) -> None:
        if self.invalid:
            self.log.notes.append(note("invalidated", n=self.invalid))
        if self.errors:
            self.log.notes.append(errors_note(self.errors))
        for scorer, values in self.unread.items():
            example = str(values[0])
            facts = {"n": len(values), "scorer": scorer, "example": example}
            self.log.notes.append(warning("unread-scores", **facts))
        if self.no_answer:
            self.log.notes.append(note("no-answer", n=self.no_answer))


def _epoch(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**31 else 1


def _grade(value: Any) -> float | None:
    """The score of an answer as a number, or None if it was not scored or is not a number.

    The score of a list is the mean of its parts.
    """
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, list):
        parts = [grade for part in value if (grade := _grade(part)) is not None]
        return sum(parts) / len(parts) if parts and len(parts) == len(value) else None
    if isinstance(value, str):
        text = value.strip()
        if text in LETTERS:
            return LETTERS[text]
        return WORDS.get(text.casefold(), number_of(text))
    return number_of(value)


def _confidence(sample: dict[str, Any], score: dict[str, Any]) -> tuple[float | None, str]:
    """The confidence of an answer and its source."""
    places = (score.get("metadata"), score.get("value"), sample.get("metadata"))
    for place in map(as_object, places):
        for key in CONFIDENCE_KEYS:
            if (stated := number_of(place.get(key))) is not None:
                return stated, STATED
    probability = _token_probability(sample, score.get("answer"))
    return (None, NO_SOURCE) if probability is None else (probability, TOKEN)


def _token_probability(sample: dict[str, Any], answer: Any) -> float | None:
    """The probability of the last token that is the answer."""
    choices = as_list(as_object(sample.get("output")).get("choices"))
    if not choices or not isinstance(answer, str) or not answer.strip():
        return None
    tokens = as_list(as_object(as_object(choices[0]).get("logprobs")).get("content"))
    for token in reversed(tokens):
        if str(as_object(token).get("token", "")).strip() == answer.strip():
            return probability_of_log(token.get("logprob"))
    return None


def read_json(data: bytes) -> Log:
    """Read a log that is one JSON object. Its samples are decoded one after the other."""
    reader, header, document = _Reader(), dict[str, Any](), Document(data)
    for key in document.members():
        if key == "samples" and document.peek() == "[":
            for _ in document.elements():
                reader.add(as_object(document.value()))
        else:
            header[key] = document.value()
    document.end()
    return reader.finished(header)


def read_archive(data: bytes, budget: Budget) -> Log:
    """Read an .eval file, also one of an evaluation that is not finished. Nothing is unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_whole(archive, data)
            return _read_members(archive, data, budget)
    except InputError:
        raise
    except (*DAMAGE, pa.ArrowException):
        raise refuse("damaged.eval") from None


def _read_members(archive: zipfile.ZipFile, data: bytes, budget: Budget) -> Log:
    members = members_of(archive)
    if archives := [name for name in members if name.lower().endswith(ARCHIVES)]:
        raise refuse("members.archive", member=archives[0])
    samples = [entry for name, entry in members.items() if SAMPLE.fullmatch(name)]
    journal = [entry for name, entry in members.items() if JOURNAL.fullmatch(name)]
    header = members.get(HEADER) or members[START]
    budget.check_unpacked(sum(entry.file_size for entry in (header, *samples, *journal)), ".eval")
    reader, read = _Reader(), set[tuple[str, int]]()
    for entry in samples:
        sample = _member(archive, data, entry, "id")
        read.add(_key(sample))
        reader.add(sample)
    # The last summary of each answer counts whose sample was not read.
    last = dict[tuple[str, int], dict[str, Any]]()
    for entry in sorted(journal, key=lambda entry: (len(entry.filename), entry.filename)):
        for summary in map(as_object, as_list(_decoded(archive, data, entry))):
            last[_key(summary)] = summary
    for key, summary in last.items():
        if key not in read:
            reader.add(summary)
    return reader.finished(_member(archive, data, header, "eval"))


def _member(
    archive: zipfile.ZipFile, data: bytes, entry: zipfile.ZipInfo, key: str
) -> dict[str, Any]:
    """A header or a sample, which has this key. Checksums do not cover the names of members."""
    value = as_object(_decoded(archive, data, entry))
    if key not in value:
        raise refuse("members.other", member=entry.filename)
    return value


def _key(sample: dict[str, Any]) -> tuple[str, int]:
    return name_of(sample.get("id")), _epoch(sample.get("epoch"))


def _decoded(archive: zipfile.ZipFile, data: bytes, entry: zipfile.ZipInfo) -> Any:
    return Document(_content(archive, data, entry)).value()


def _content(archive: zipfile.ZipFile, data: bytes, entry: zipfile.ZipInfo) -> bytes:
    """The content of a member. Python before 3.14 cannot unpack zstandard."""
    if entry.compress_type != ZSTANDARD:
        with archive.open(entry) as stream:
            return stream.read(entry.file_size + 1)
    if entry.flag_bits & ENCRYPTED:
        raise zipfile.BadZipFile
    start = entry.header_offset
    name, extra = struct.unpack("<HH", data[start + 26 : start + LOCAL_HEADER_BYTES])
    first = start + LOCAL_HEADER_BYTES + name + extra
    raw = data[first : first + entry.compress_size]
    # The stream reads all frames, of which there can be several.
    stream = pa.CompressedInputStream(pa.BufferReader(raw), "zstd")
    content = in_pieces(stream, entry.file_size + 1)
    if len(content) != entry.file_size or zlib.crc32(content) != entry.CRC:
        raise zipfile.BadZipFile
    return content
