"""Names out of data stay text: no field that Streamlit reads as Markdown or HTML holds one bare.

Every page is tried in test_every_page.py.
What a browser makes of them is tested in tests/browser/test_hostile_names.py.
"""

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest

from calib.text import JOINER, plain, sentence
from tests.pages.harness import start

# A browser would load, follow, set in bold, or replace these texts by an icon.
TRAPS = (
    "![i](http://{0}.test) <img src=http://{0}.test> <b>B</b> [l](http://{0}.test) **s** $x$ %{{x}}"
)
BARE, HTML = ("![i](", "[l](http", "**s**"), ("<img", "<b>B")
# Streamlit's front end replaces these after Markdown's escapes are resolved.
STREAMLIT_LOOKS_FOR = (
    r"https?://\w",
    r"www\.",
    r"[\w.+-]@[\w-]+\.",
    r":material/",
    r":\+1:|:-1:|:[\w-]+:",
    r"(^|\s)(<->|->|<-|--|>=|<=|~=)(\s|$)",
)
# Fields that Streamlit shows as they are, by element and name.
TEXT = {
    ("selectbox", "options"),
    ("selectbox", "rawValue"),
    ("multiselect", "options"),
    ("multiselect", "rawValues"),
    ("text_input", "value"),
    ("text_input", "placeholder"),
    ("text_area", "value"),
    ("dataframe", "columns"),
    ("dataframe", "alt"),
    ("code", "codeText"),
    ("plotly_chart", "alt"),
}


def trap(name: str) -> str:
    return TRAPS.format(name)


def binary(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    score = rng.random(n).round(4)
    hit = rng.random(n) < score**1.5
    columns = {
        trap("outcome"): np.where(hit, trap("positive"), "other"),
        trap("score"): score,
        trap("slice"): rng.choice([trap("left"), trap("right")], n),
        "date": [f"2024-{1 + i % 4:02d}-01" for i in range(n)],
    }
    return pd.DataFrame(columns)


def models() -> pd.DataFrame:
    one = binary()
    return pd.concat([one.assign(model=trap(name)) for name in ("first", "second", "third")])


def matrix(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1, 1, 1], n).round(5)
    names = [trap(name) for name in ("red", "green", "blue")]
    labels = [names[rng.choice(3, p=row / row.sum())] for row in scores]
    return pd.DataFrame(scores, columns=names).assign(label=labels)


DATA = {"binary": binary, "models": models, "matrix": matrix}


def csv(frame: pd.DataFrame) -> bytes:
    out = io.StringIO()
    frame.to_csv(out, index=False)
    return out.getvalue().encode()


def texts(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text in an element's message, with the names of the fields that lead to it."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from texts(part, (*path, name))
    elif isinstance(value, list):
        for part in value:
            yield from texts(part, path)
    elif isinstance(value, str):
        yield path, value


def elements(node: Any) -> Iterator[tuple[str, Any]]:
    for child in node.children.values():
        if hasattr(child, "children"):
            yield from elements(child)
        if getattr(child, "proto", None) is not None:
            yield child.type, child.proto


def bare(app: AppTest) -> list[tuple[str, tuple[str, ...], str]]:
    """Names of the data in fields that may be read as Markdown, or as HTML."""
    found = []
    for kind, proto in elements(app._tree):
        in_html = kind in ("plotly_chart", "html")
        marks = HTML if in_html else BARE
        for path, text in texts(MessageToDict(proto)):
            if (kind, path[-1]) in TEXT:
                continue
            if (kind, path[-1]) == ("bidi_component", "json"):
                # Components draw only this part of their data as HTML.
                data = json.loads(text)
                text = data.get("markup", "") if isinstance(data, dict) else ""
                if proto.component_name == "calib_drawing":  # A drawing has several widths.
                    text = " ".join(markup for _, markup in data)
                in_html, marks = True, HTML
            # Between backticks all is text.
            outside = text if in_html else "".join(text.split("`")[::2])
            if any(mark in outside for mark in marks):
                found.append((kind, path, outside[:200]))
    return found


@pytest.mark.parametrize(
    "name",
    [
        "http://x.test/a",
        "HTTPS://x.test",
        "www.x.test",
        "me@x.test",
        ":material/home:",
        ":smile: :+1:",
        ":red[a]",
        "a -> b <-> c -- d >= e",
        "# a",
        "1. a",
        "$x$ `y` ~z~ <b>c</b> &amp; | ![i](http://x.test)",
    ],
)
def test_plain_text_is_what_was_typed_and_keeps_apart_what_streamlit_looks_for(name):
    shown = re.sub(r"\\(.)", r"\1", plain(name))
    assert shown.replace(JOINER, "") == name
    for pattern in STREAMLIT_LOOKS_FOR:
        assert not re.search(pattern, shown, re.IGNORECASE)


def test_a_sentence_keeps_its_code_and_escapes_all_else():
    said = sentence("Count '![i](http://x.test)' as `**a**`, not ``b` or `:material/home:`.")
    assert "`**a**`" in said
    assert "![i](" not in said
    assert ":material/" not in said


def test_questions_about_a_file_and_their_repairs_keep_its_words_text():
    # A column of three labels is asked about if its name tells that it is the outcome.
    frame = binary().rename(columns={trap("outcome"): "outcome"}).assign(**{trap("score"): 120.0})
    frame.loc[:9, "outcome"] = "![i](http://x.test)"
    for name in ("outcome", trap("slice")):
        frame.loc[20:25, name] = None
    app = start("Data", frame, m="platt")
    assert [b for b in app.button if b.key.startswith("repair_")]
    assert len(app.error) > 1
    assert not bare(app)


def test_the_button_of_a_repair_keeps_the_word_that_it_counts_text():
    rng = np.random.default_rng(0)
    words = rng.choice(["![i](http://x.t)", "z **s**", "a **s**"], 300)
    app = start("Data", pd.DataFrame({"y": words, "p": rng.random(300)}), m="platt")
    assert any("Positive class" in button.label for button in app.button)
    assert not bare(app)
