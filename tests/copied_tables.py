"""Tables of the pages as a person copies them."""

import io
import json
from typing import Any

import pandas as pd
from streamlit.testing.v1 import AppTest


def drawn_tables(app: AppTest, name: str) -> list[dict[str, Any]]:
    """What the browser gets of the tables whose file name begins so: markup and text."""
    drawn = [json.loads(each.proto.json) for each in app.get("bidi_component") if each.proto.json]
    return [
        data
        for data in drawn
        if isinstance(data, dict) and data.get("name", "").startswith(f"{name},")
    ]


def copied_tables(app: AppTest, name: str) -> list[pd.DataFrame]:
    """One table per method, the uncalibrated scores first."""
    return [
        pd.read_csv(io.StringIO(data["text"]), sep="\t", dtype=str, keep_default_na=False)
        for data in drawn_tables(app, name)
    ]
