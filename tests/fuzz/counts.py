"""Saved counts: files of cells whose columns or description hold what was never counted."""

from __future__ import annotations

import io
import json
import random
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import calib
from calib.loading import InputError
from calib.loading.problems import refuse
from calib.scanning.rows_or_counts import read
from tests.fuzz.cases import Case
from tests.fuzz.mutations import mutated
from tests.fuzz.reports import change

SETTINGS = calib.Settings(methods=("platt",), n_bins=4)
KEY = b"calib.aggregate"
ODD = {
    pa.int64(): [None, -1, 0, 7, 2**62],
    pa.float64(): [None, -0.5, 0.0, 1e308, float("nan"), float("inf")],
    pa.bool_(): [None],
}


@cache
def table() -> pa.Table:
    """Counts with slices, folds and rows that were set aside."""
    rng = np.random.default_rng(0)
    score = np.round(rng.random(200), 2)
    rows = calib.Predictions.from_arrays(
        rng.random(200) < score, score, columns={"site": rng.choice(["a", "b"], 200)}
    )
    return calib.aggregate(rows, slices=["site"]).to_arrow()


def counts_case(rng: random.Random) -> Case:
    """A file of counts with damaged bytes, a forged description, or forged cells."""
    if rng.random() < 0.2:
        return Case(mutated(rng, _file(table())), _analysed, _wrong, note="bytes")
    made, note = table(), "description"
    if rng.random() < 0.6:
        known = json.loads(made.schema.metadata[KEY])
        for _ in range(rng.choice([1, 1, 2])):
            change(rng, known)
        made = made.replace_schema_metadata({KEY: json.dumps(known)})
    else:
        at, note = rng.randrange(made.num_columns), "cells"
        values = made.column(at).to_pylist()
        odd = [-1, 0, 7, 2**62, True] if made.schema.types[at] != pa.float64() else [-0.5, 1e308]
        values[rng.randrange(len(values))] = rng.choice([*odd, *values])
        try:
            made = made.set_column(
                at, made.schema.field(at), pa.array(values, made.schema.types[at])
            )
        except (pa.ArrowException, TypeError, OverflowError):
            made = made.drop_columns([made.column_names[at]])
    return Case(_file(made), _analysed, _wrong, note=note)


def _file(made: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(made, stream)
    return stream.getvalue()


def _analysed(data: bytes) -> calib.Analysis:
    found = read(data, "counts.parquet")
    if not isinstance(found, calib.Aggregate):
        raise refuse("view", message="These are rows.")
    try:
        return calib.analyze(found, SETTINGS)
    except InputError:
        raise
    except ValueError as error:
        raise refuse("view", message=str(error)) from error


def _wrong(analysis: calib.Analysis) -> str:
    """What no counts may lead to."""
    values = [method.metrics["log_loss"].value for method in analysis.methods.values()]
    return "" if np.isfinite(values).all() and min(values) >= 0.0 else f"log losses {values}"
