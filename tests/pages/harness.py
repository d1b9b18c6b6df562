"""The app in this process: a page that is drawn once, what a person does there, and what is shown.

A drawn page takes 0.05 seconds of a processor, an analysis of all methods 0.4: tests whose subject
is not the methods compare one (`m="platt"`), and few data are drawn by all of them.
"""

import base64
import io
import json
import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Element

from calib.ui.controls import uploaders
from calib.ui.session import results, state
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import SESSION, Session
from calib.ui.session.state import Model

ROOT = Path(__file__).resolve().parents[2]
File = str | bytes | pd.DataFrame
Files = Mapping[str, File]  # By their names.


def start(page: str = "Overview", data: File | Files | Session = "", /, **link: str) -> AppTest:
    """A page as a link opens it, in a session in which these files were dropped."""
    app = at(**link)
    if isinstance(data, Session):
        app.session_state[SESSION] = data
    elif len(data):
        app.session_state[SESSION] = dropped(data, **link)
    return go(app, page)


def at(**link: str) -> AppTest:
    """The app at a link, before a page is drawn."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in link.items():
        app.query_params[name] = value
    return app


def dropped(data: File | Files, /, **link: str) -> Session:
    """A session as it is after files were dropped, without a page."""
    session = Session.from_link(link)
    files = data if isinstance(data, Mapping) else {"mine.csv": data}
    uploaders.receive(session, [(name, content(file)) for name, file in files.items()], "data")
    return session


def model_of(session: Session) -> Model:
    """What the body of a page gets of the shown data, computed once for all tests."""
    rows = state.predictions(session)
    assert rows is not None
    session.adapt_to_data(rows)
    return results.with_plan_of(session, Model(rows, state.analysis(session, rows)))


def content(file: File) -> bytes:
    text = file.to_csv(index=False) if isinstance(file, pd.DataFrame) else file
    return text.encode() if isinstance(text, str) else text


def go(app: AppTest, page: str) -> AppTest:
    return drawn(app.switch_page(PAGES[page]))


def by_class(app: AppTest) -> AppTest:
    """The page Slices of a matrix with columns, after the classes were chosen."""
    return app.segmented_control(key="slice_kind").set_value("class").run()


def drawn(app: AppTest) -> AppTest:
    app.run()
    assert not app.exception
    return app


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click()
    return drawn(app)


def opened(app: AppTest, key: str) -> AppTest:
    """Draw a part that waits until a person opens it."""
    app.session_state[key] = True
    return drawn(app)


def session_of(app: AppTest) -> Session:
    return app.session_state[SESSION]


def drop(app: AppTest, key: str, data: File, name: str = "mine.csv") -> AppTest:
    """Drop a file into the place whose key begins so."""
    (place,) = (one for one in app.file_uploader if one.key.startswith(key))
    place.upload(name, content(data))
    return drawn(app)


def address(app: AppTest) -> dict[str, str]:
    # AppTest gives lists.
    values = {name: app.query_params[name] for name in app.query_params}
    return {name: found[0] if isinstance(found, list) else found for name, found in values.items()}


def rows(n: int = 400, scale: float = 1.0, *, reverse: bool = False) -> str:
    """Calibrated scores, or those of the other class, as CSV."""
    rng = np.random.default_rng(0)
    p = rng.random(n)
    hits = rng.random(n) < p
    scores = scale * (1 - p if reverse else p)
    lines = [f"{int(hit)},{score:.5f}" for hit, score in zip(hits, scores, strict=True)]
    return "outcome,score\n" + "\n".join(lines) + "\n"


def sited(n: int = 1200) -> pd.DataFrame:
    """Scores that are calibrated in the north, and too high in the south."""
    rng = np.random.default_rng(0)
    score = rng.random(n).round(4)
    site = rng.choice(["north", "south", "tiny"], n, p=[0.6, 0.39, 0.01])
    outcome = rng.random(n) < np.where(site == "south", score**2, score)
    return pd.DataFrame({"outcome": outcome * 1, "score": score, "site": site})


def said(app: AppTest) -> str:
    """All text of a page but its controls, charts and tables, without the escapes of Markdown."""
    kinds = (app.markdown, app.caption, app.info, app.error, app.warning)
    return " ".join([*answers(app), *(e.value for kind in kinds for e in kind)]).replace("\\", "")


def text_of(element: Element) -> str:
    """Markdown or HTML of one element."""
    if element.type in ("markdown", "caption", "warning"):
        return str(element.value)
    return str(element.proto.body) if element.type == "html" else ""


def answers(app: AppTest) -> list[str]:
    """What a page answers first, as text: one per model."""
    found = [e.proto.body for e in app.get("html")]
    return [unescape(re.sub("<[^>]*>", " ", body)) for body in found if 'class="answer"' in body]


def key_numbers(app: AppTest) -> dict[str, str]:
    """The numbers beside the answer by their labels."""
    body = next(e.proto.body for e in app.get("html") if 'class="answer"' in e.proto.body)
    return dict(re.findall("<dt>([^<]*)</dt><dd>([^<]*)<", body))


def outline(app: AppTest) -> list[tuple[int, str]]:
    """Level and text of every heading, in the order of the page."""
    found = []
    for each in app.main:
        if each.type == "markdown":
            marks = (re.match(r"(#+) (.*)", line) for line in each.value.split("\n"))
            found += [(len(mark[1]), mark[2]) for mark in marks if mark]
        elif each.type == "html":
            marks = re.finditer(r"<h(\d)[^>]*>(.*?)</h\1>", each.proto.body)
            found += [(int(mark[1]), re.sub("<[^>]*>", "", mark[2])) for mark in marks]
    return found


def headings(app: AppTest) -> list[str]:
    """The texts of the headings; the first is the name of the page."""
    found = (re.sub(r":\w+\[.\] ", "", text) for _, text in outline(app))
    return [unescape(text).replace("\\", "") for text in found]


def sent(app: AppTest) -> Iterator[Any]:
    """What components get from the page."""
    for each in app.get("bidi_component"):
        if each.proto.json:
            yield json.loads(each.proto.json)


def tables(app: AppTest) -> list[dict[str, Any]]:
    """What the browser gets of each table: markup, the name of its file, and text to copy."""
    return [data for data in sent(app) if isinstance(data, dict) and "markup" in data]


def metric_tables(app: AppTest) -> list[str]:
    """The tables with intervals, as HTML."""
    return [data["markup"] for data in tables(app) if "<table>" in data["markup"]]


def markup(app: AppTest, about: str) -> str:
    """The table that a screen reader is told about in these words, as HTML."""
    (found,) = (body for body in metric_tables(app) if f'aria-label="{about}' in body)
    return found


def copied(app: AppTest, name: str) -> list[pd.DataFrame]:
    """The tables whose file has this name, as a person copies them: one per method."""
    found = [data for data in tables(app) if data["name"].partition(",")[0] == name]
    read = {"sep": "\t", "dtype": str, "keep_default_na": False}
    return [pd.read_csv(io.StringIO(data["exact"] or data["text"]), **read) for data in found]


def drawings(app: AppTest) -> list[str]:
    """The charts that are SVG, each at its smallest width."""
    found = [each.proto for each in app.get("bidi_component")]
    return [json.loads(e.json)[0][1] for e in found if e.component_name == "calib_drawing"]


def traces(app: AppTest, key: str) -> dict[str, dict[str, Any]]:
    """What Plotly draws in the chart whose key holds this text, by name."""
    (found,) = (each for each in app.get("plotly_chart") if key in each.proto.id)
    return {trace.get("name"): trace for trace in json.loads(found.proto.spec)["data"]}


def unpacked(values: dict[str, str] | list[float]) -> np.ndarray:
    """The numbers of a trace."""
    if isinstance(values, list):
        return np.asarray(values)
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
