"""Dropped files whose first guess a person corrects: another sheet, no header, a refusal."""

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.loading.workbooks import xlsx
from tests.pages.harness import start

RNG = np.random.default_rng(3)
P = RNG.random(200).round(3)
Y = (RNG.random(200) < P).astype(int)


def rows(first: int) -> list[list[str | float | bool | None]]:
    pairs = zip(Y[first:].tolist(), P[first:].tolist(), strict=True)
    return [["y", "p"], *([float(y), p] for y, p in pairs)]


def dropped(file: tuple[str, bytes]) -> AppTest:
    """The page of the data after a person dropped a file on it."""
    app = start("Data", m="platt")
    app.file_uploader[0].set_value([(*file, "")]).run()
    assert not app.exception
    return app


def shown(app: AppTest) -> int:
    """The number of rows of the only model."""
    (model,) = app.session_state["calib"].upload.models.values()
    return len(model)


def test_another_sheet_of_a_workbook_is_one_click_away() -> None:
    app = dropped(
        ("book.xlsx", xlsx({"About": [["Made", "by"]], "May": rows(0), "June": rows(50)}))
    )
    assert shown(app) == 200
    assert app.selectbox(key="data_sheet").options == ["May", "About", "June"]
    app.selectbox(key="data_sheet").set_value("June").run()
    assert not app.exception
    assert shown(app) == 150
    assert app.selectbox(key="data_sheet").value == "June"


def test_a_person_says_whether_the_first_line_is_a_header() -> None:
    text = "\n".join(f"{y},{p}" for y, p in zip(Y, P, strict=True)) + "\n"
    app = dropped(("rows.csv", text.encode()))
    assert app.segmented_control(key="data_header").value == "No"
    assert shown(app) == 200
    app.segmented_control(key="data_header").set_value("Yes").run()
    assert not app.exception
    assert app.session_state["calib"].upload.table.columns == (str(Y[0]), str(P[0]))
    app.segmented_control(key="data_header").set_value("No").run()
    assert shown(app) == 200


def test_a_file_that_is_refused_keeps_its_name_on_the_page() -> None:
    app = dropped(("scores.sav", b"$FL2@(#) SPSS DATA FILE"))
    assert app.session_state["calib"].upload is None
    assert any(text.value.startswith("## scores") for text in app.markdown)
    assert "`scores.sav`" in app.error[0].value
