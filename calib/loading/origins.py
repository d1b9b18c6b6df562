"""origin_of: how rows were read, so that a report can say it."""

from __future__ import annotations

from typing import Any

from calib.loading import column_ranges
from calib.loading.mapping import ColumnMapping
from calib.loading.rows import Rows
from calib.loading.table import Table
from calib.origin import Origin


def origin_of(rows: Rows) -> Origin:
    """The arguments of `calib.load` that read these rows again, and guess nothing."""
    mapping, table = rows.mapping, rows.table
    model, value = table.model or ("", "")
    plain: dict[str, Any] = {
        name: getattr(mapping, name) or ""
        for name in ("outcome", "positive", "predicted", "weight", "group", "split", "time")
    }
    return Origin(
        file=table.file,
        test="" if rows.test_table is None else rows.test_table.file,
        test_value=(mapping.split and mapping.test_value) or "",
        slices=mapping.slices,
        model=model,
        model_value=value,
        transform="" if mapping.transform == "none" else mapping.transform,
        drop_missing=mapping.drop_missing,
        swap=mapping.swap,
        **plain,
        **_scores(mapping, table),
    )


def _scores(mapping: ColumnMapping, table: Table) -> dict[str, Any]:
    """A thousand class columns in few words, where words can say which."""
    if not isinstance(mapping.score, tuple):
        return {"score": mapping.score or ""}
    said = column_ranges.written(mapping.score, table.columns)
    if column_ranges.read(said, table.columns) == mapping.score:
        return {"class_columns": said}
    return {"scores": mapping.score}
