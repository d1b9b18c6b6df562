"""What follows a control at once, and what the browser has drawn before the server knows."""

import pytest

from calib.ui.layout import charts
from calib.ui.session.choices import N_BINS
from calib.ui.session.session import Session


class Reran(Exception):
    """The whole page is drawn next."""


@pytest.mark.parametrize("painted", [True, False])
def test_what_the_browser_has_drawn_is_not_drawn_first(monkeypatch, painted):
    def rerun():
        raise Reran

    drawn = []
    monkeypatch.setattr(charts.st, "rerun", rerun)
    monkeypatch.setattr(charts.st, "fragment", lambda follow: follow)
    monkeypatch.setattr(charts.state, "analysis", lambda *_: drawn.append("analysis"))
    monkeypatch.setattr(charts, "replace", lambda *_, **__: None)
    monkeypatch.setattr(charts.time, "sleep", lambda _: drawn.append("wait"))
    session = Session()
    session.answered = session.chosen
    session.change(N_BINS, 20)
    session.painted = painted

    class Rows:
        rows = None

    with pytest.raises(Reran):
        charts.at_once(
            session, Rows(), lambda: drawn.append("controls"), lambda _: drawn.append("body")
        )
    assert drawn == ([] if painted else ["controls", "analysis", "body", "wait"])
