"""The rows of one model, where a column names the model of each row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib.loading.columns import Labels, as_labels
from calib.loading.problems import joined, quoted, refuse
from calib.loading.table import Table


def model_labels(table: Table | None, column: str) -> Labels | None:
    """The names of the models; None where the table has no such column."""
    if table is None or column not in table.columns:
        return None
    return as_labels(table.frame[column])


def of_model(table: Table, column: str, model: str, labels: Labels | None) -> Table:
    """The rows of one model; all of them where no label is that model's."""
    code = None if labels is None else labels.find(model)
    if labels is None or code is None:
        return table
    chosen = table.chosen(np.flatnonzero(labels.codes == code))
    return replace(chosen, model=(column, labels.name(code)))


def one_model(
    column: str, model: str | None, table: Table, test_table: Table | None
) -> tuple[Table, Table | None]:
    """The rows of one model, of a table and of its test table.

    Raises
    ------
    InputError
        If there is no such column, or no such model in it.
    """
    labels = model_labels(table, column)
    if labels is None:
        raise refuse("model-column", f"The model column {quoted(column)} is not in the table.")
    if model is None or labels.find(model) is None:
        known = joined([quoted(name) for name in labels.names[:5]], len(labels)) or "no model"
        raise refuse(
            "model-value",
            f"model_value must be one that the column {quoted(column)} names ({known}), "
            f"got {quoted(model)}.",
        )
    chosen = of_model(table, column, model, labels)
    if test_table is None:
        return chosen, None
    return chosen, of_model(test_table, column, model, model_labels(test_table, column))
