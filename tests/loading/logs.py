"""Evaluation logs as their programs write them, with known answers and confidences."""

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import calib
from calib.loading import FileFormat, InputError, read
from calib.loading.logs import combined

SHARED = Path(__file__).parents[3] / "shared" / "data" / "logs"
HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "capitals", "model": "m/one", "dataset": {"samples": 4}},
}


def sample(
    number: int, value: Any = "C", *, scorer: str = "match", epoch: int = 1, **score: Any
) -> dict[str, Any]:
    return {
        "id": number,
        "epoch": epoch,
        "input": "?",
        "target": "A",
        "output": {"choices": []},
        "scores": {scorer: {"value": value, "answer": "A"} | score},
        "metadata": {"label_confidence": 0.99},
    }


def stated(number: int, confidence: object, value: Any = "C", **more: Any) -> dict[str, Any]:
    return sample(number, value, metadata={"confidence": confidence}, **more)


def inspect_json(samples: list[dict[str, Any]], **header: Any) -> bytes:
    return json.dumps(HEADER | header | {"samples": samples}).encode()


def members(
    samples: list[dict[str, Any]], header: dict[str, Any] | None = HEADER
) -> dict[str, bytes]:
    files = {"_journal/start.json": HEADER | {"status": "started"}, "header.json": header}
    files |= {f"samples/{s['id']}_epoch_{s['epoch']}.json": s for s in samples}
    files["summaries.json"] = samples
    return {name: json.dumps(content).encode() for name, content in files.items() if content}


def archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return buffer.getvalue()


def zstandard_archive(files: dict[str, bytes]) -> bytes:
    """A zip archive whose members are zstandard (method 93), each in several frames."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in files.items():
            middle = len(content) // 2
            frames = [
                pa.compress(part, "zstd", asbytes=True)
                for part in (content[:middle], content[middle:])
                if part
            ]
            packed.writestr(name, b"".join(frames))
        entries, start = packed.infolist(), packed.start_dir
    data = bytearray(buffer.getvalue())
    for entry in entries:
        content = files[entry.filename]
        # The places of the method, the checksum and the size in both headers of a member.
        for place, method, checksum in ((entry.header_offset, 8, 14), (start, 10, 16)):
            struct.pack_into("<H", data, place + method, 93)
            struct.pack_into("<I", data, place + checksum, zlib.crc32(content))
            struct.pack_into("<I", data, place + checksum + 8, len(content))
        start = data.find(b"PK\x01\x02", start + 4)
    return bytes(data)


def lines(*records: dict[str, Any]) -> bytes:
    return "".join(f"{json.dumps(record)}\n" for record in records).encode()


def lm_sample(doc: int, likelihoods: list[float], target: int, **more: Any) -> dict[str, Any]:
    """A multiple-choice sample, whose choices are "a", "aa", "aaa" and so on."""
    best = max(range(len(likelihoods)), key=likelihoods.__getitem__)
    return {
        "doc_id": doc,
        "doc": {},
        "target": str(target),
        "arguments": {
            f"gen_args_{k}": {"arg_0": "Q:", "arg_1": " " + "a" * (k + 1)}
            for k in range(len(likelihoods))
        },
        "resps": [[[str(v), "False"]] for v in likelihoods],
        "filtered_resps": [[str(v), "False"] for v in likelihoods],
        "filter": "none",
        "metrics": ["acc"],
        "acc": float(best == target),
    } | more


def rows_of(data, name="run.eval", **options):
    return combined([read(data, name, given=FileFormat(**options))])[0].frame


def refusal(data, name="run.json", **options):
    with pytest.raises(InputError) as refused:
        calib.load(data, name=name, **options)
    return refused.value.problems[0]


def helm(number, **stats):
    return {
        "instance_id": f"id{number}",
        "stats": [
            {"name": {"name": name, "split": "test"}, "sum": value, "count": 1}
            for name, value in stats.items()
        ],
    }


def rubric(score, *, metric=None, value="is polite"):
    assertion = {"type": "llm-rubric", "value": value} | ({"metric": metric} if metric else {})
    return {"pass": score >= 0.5, "score": score, "assertion": assertion, "reason": "good"}


def equals(*, passes):
    return {"pass": passes, "score": float(passes), "assertion": {"type": "equals"}}


def promptfoo(*tests, **more):
    """An export with one result per list of checks."""
    results = [
        {
            "success": all(part["pass"] for part in parts),
            "gradingResult": {"pass": True, "score": 0.8, "componentResults": parts},
            "provider": {"id": "openai:x"},
            "testIdx": number,
            "promptIdx": 0,
        }
        | more.get(f"test_{number}", {})
        for number, parts in enumerate(tests)
    ]
    return json.dumps({"evalId": "e", "results": {"version": 3, "results": results}}).encode()


def hle(*confidences):
    def judged(number, confidence):
        answer = {"correct": ("yes", "no")[number % 2], "model_answer": "7"}
        if confidence is not None:
            answer["confidence"] = confidence
        return {"model": "m", "response": "...", "judge_response": answer}

    return json.dumps({f"q{k}": judged(k, c) for k, c in enumerate(confidences)}).encode()
