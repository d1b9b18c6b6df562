"""Exported calibrators: damaged files of every form, and documents forged below their seal."""

from __future__ import annotations

import json
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from calib.calibrators import CALIBRATORS, calibrator, multiclass_calibrator
from calib.exports import ExportedCalibrator, Verified, describe, export, verify
from calib.exports.document import canonical, read_document, seal_of
from tests.fuzz.cases import Case
from tests.fuzz.mutations import mutated
from tests.fuzz.reports import change

RNG = np.random.default_rng(0)
SCORE, MATRIX = RNG.random(300), RNG.dirichlet(np.ones(3), 300)
OUTCOME, LABEL = RNG.random(300) < SCORE, (RNG.random(300)[:, None] > MATRIX.cumsum(axis=1)).sum(1)
SUFFIXES = (".json", ".sql", ".py", ".js", ".onnx")


@cache
def fitted(key: str, *, matrix: bool) -> ExportedCalibrator:
    """A calibrator as it is exported."""
    if matrix:
        return describe(multiclass_calibrator(key).fit(MATRIX, LABEL))
    return describe(calibrator(key).fit(SCORE, OUTCOME))


@cache
def written(key: str, suffix: str, *, matrix: bool) -> bytes:
    """Its file in one form."""
    with tempfile.TemporaryDirectory() as folder:
        return export(fitted(key, matrix=matrix), Path(folder, f"map{suffix}")).read_bytes()


def export_case(rng: random.Random) -> Case:
    """A damaged file, or a document in which values were changed before it was sealed."""
    if rng.random() < 0.4:
        key, matrix = rng.choice([("beta", False), ("isotonic", False), ("vector", True)])
        suffix = rng.choice(SUFFIXES)
        data = mutated(rng, written(key, suffix, matrix=matrix))
        source = written(key, ".json", matrix=matrix)
        return Case(data, lambda data: _verified(data, suffix, source), lambda _: "", note=suffix)
    key = rng.choice(sorted(CALIBRATORS))
    # No file can hold the KS spline of a matrix.
    matrix = CALIBRATORS[key].create is None or (key != "ks_spline" and rng.random() < 0.5)
    content = json.loads(fitted(key, matrix=matrix).json())
    del content["sha256"]
    for _ in range(rng.choice([1, 1, 2])):
        change(rng, content)
    sealed = canonical(content | {"sha256": seal_of(content)})
    return Case(sealed.encode(), _read, _implausible, note=f"{key}, {matrix=}")


def _verified(data: bytes, suffix: str, source: bytes) -> Verified:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"map{suffix}")
        path.with_suffix(".json").write_bytes(source)
        path.write_bytes(data)
        return verify(path)


def _read(data: bytes) -> Any:
    made = read_document(data)
    with tempfile.TemporaryDirectory() as folder:
        export(made, Path(folder, "map.py"))
    return made.predict(MATRIX if made.matrix else SCORE)


def _implausible(found: Any) -> str:
    right = np.isfinite(found).all() and found.min() >= 0.0 and found.max() <= 1.0
    return "" if right else f"scores from {found.min()} to {found.max()}"
