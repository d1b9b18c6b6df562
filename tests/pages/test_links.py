"""What a link, a reload and a page change keep."""

import time
from types import SimpleNamespace

import pytest

from calib.ui.session import state
from calib.ui.session.open_sessions import COOKIE
from tests.pages.harness import (
    address,
    answers,
    drop,
    dropped,
    go,
    opened,
    press,
    rows,
    said,
    session_of,
    start,
)
from tests.rare import rare

LINK = {"data": "0123456789ab", "file": "clean.csv", "rows": "4000", "bins": "7"}


def test_a_dropped_file_restores_the_view_of_its_link():
    link = dropped({"clean.csv": rows()}, bins="7", axis="logit").link()
    assert (link["file"], link["rows"]) == ("clean.csv", "400")
    app = drop(start("Reliability", **link), "data_file", rows(), "clean.csv")
    assert "This link is for" not in said(app)
    assert opened(app, "static_diagram").slider(key="n_bins").value == 7
    assert app.segmented_control(key="axis").value == "logit"
    assert address(app) == link


def test_another_file_than_that_of_the_link_is_opened_only_on_request(texts):
    app = drop(start("Reliability", **LINK, m="platt"), "data_file", rows(), "other.csv")
    texts.shown(said(app))
    assert not app.get("plotly_chart")
    assert press(app, "open_offered").get("plotly_chart")
    assert session_of(app).settings.n_bins == 7
    assert address(app)["file"] == "other.csv"


def test_a_link_to_a_file_can_be_left_for_an_example():
    app = press(start(data="0123456789ab", file="clean.csv", bins="7"), "show_example")
    assert len(answers(app)) == 1
    assert not app.query_params


def test_what_a_link_calls_its_file_stays_text():
    app = start(data="0123456789ab", file="![i](http://x.test) **b**\n# c")
    (heading,) = [m.value for m in app.markdown if "This link is for" in m.value]
    assert "![i](" not in heading
    assert "\n" not in heading


class Address(dict[str, str]):
    """The address of a tab."""

    to_dict, from_dict = dict.copy, dict.update


@pytest.fixture
def reloaded(monkeypatch):
    """The session of a tab that is loaded again by a browser with cookies."""

    def load(session, cookies):
        context = SimpleNamespace(cookies=cookies)
        monkeypatch.setattr(state.st, "context", context)
        monkeypatch.setattr(state.st, "query_params", Address())
        state.write_address(session)
        return state.session_of(state.st.query_params)

    return load


@pytest.fixture
def signed_in(monkeypatch):
    """Whoever signs in, as the pages see it."""

    def sign_in(name):
        claims = {"is_logged_in": True, "sub": name, "iss": "https://id", "exp": time.time() + 60}
        monkeypatch.setattr(state.sign_in, "is_configured", lambda: True)
        monkeypatch.setattr(state.st, "user", SimpleNamespace(to_dict=lambda: claims))

    return sign_in


@pytest.mark.parametrize("scale", [1.0, 100.0], ids=["analysed", "with an open question"])
def test_a_reload_finds_the_data_again_by_the_secret_of_the_upload_only(scale, reloaded):
    session = dropped(rows(scale=scale))
    session.unseen = "yes"
    secret = state.browser_secret(session)
    again = reloaded(session, {COOKIE: f"{'0' * 32}.{secret}"})
    assert again.upload is session.upload
    assert again.unseen == "yes"
    # The cookie that Streamlit gives to every browser opens nothing.
    token = "2|00000000|00000000000000000000000000000000|1700000000"
    for cookies in ({COOKIE: "0" * 32}, {"_streamlit_xsrf": token}, {}):
        assert reloaded(session, cookies).waits


def test_where_people_sign_in_a_link_finds_the_data_of_the_person_alone(reloaded, signed_in):
    signed_in("ada")
    session = dropped(rows())
    cookies = {"_streamlit_xsrf": "2|00000000|00000000000000000000000000000000|1700000000"}
    assert state.browser_secret(session) == ""
    assert reloaded(session, cookies).upload is session.upload
    link = state.st.query_params
    for name in ("grace", "ada"):
        signed_in(name)
        assert state.session_of(link).waits is (name == "grace")
    # A secret of a time without a sign-in is none.
    signed_in("grace")
    assert reloaded(dropped(rows(scale=0.5)), {COOKIE: session.secret}).upload
    state.st.context.cookies = {COOKIE: session.secret}
    assert state.session_of(link).waits


def test_choices_survive_page_changes():
    app = opened(start("Reliability", m="platt"), "static_diagram")
    app.slider(key="n_bins").set_value(23).run()
    app.segmented_control(key="strategy").set_value("uniform").run()
    go(app, "Overview")
    opened(go(app, "Reliability"), "static_diagram")
    assert app.slider(key="n_bins").value == 23
    assert app.segmented_control(key="strategy").value == "uniform"
    assert address(app) == {"v": "1", "m": "uncalibrated.platt", "bins": "23", "by": "uniform"}


@rare
def test_epsilon_is_kept_until_it_returns_to_the_rule():
    app = start("Calibrators", eps="0.01")
    assert app.select_slider(key="epsilon").value == -2.0
    app.select_slider(key="epsilon").set_value(-3.0).run()
    go(go(app, "Overview"), "Calibrators")
    assert app.select_slider(key="epsilon").value == -3.0
    assert address(app)["eps"] == "0.001"
    app.select_slider(key="epsilon").set_value("automatic").run()
    assert "eps" not in app.query_params


def test_a_refused_link_says_so_until_it_is_read():
    app = start(bins="1600", m="platt")
    assert "bins=1600" in app.warning[0].value
    assert not press(app, "dismiss_refused").warning
