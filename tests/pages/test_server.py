"""What one session may take of the server that all share."""

import gzip
from pathlib import Path

from calib.ui.controls import uploaders
from tests.loading.bombs import BOMBS
from tests.pages.test_pages import go, rows, said, start, upload
from tests.rare import rare


def test_a_packed_file_is_read_apart() -> None:
    app = upload(start(m="platt"), gzip.compress(rows().encode()), "mine.csv.gz")
    assert app.session_state["calib"].upload.table.name == "mine"
    uploaders.file_reader().close()


@rare
def test_a_bomb_is_refused_in_a_sentence_and_what_was_shown_stays() -> None:
    app = upload(start(m="platt"), rows())
    app = upload(app, BOMBS["Parquet: a word of 1 MB in 100,000 rows"](), "bomb.parquet")
    assert "100,000 MB when each stands in its row; at most 64 MB are read" in said(app)
    assert app.session_state["calib"].upload.table.name == "mine"
    uploaders.file_reader().close()


def test_a_cancelled_analysis_waits_until_it_is_asked_for_again() -> None:
    app = go(start(), "reliability")
    session = app.session_state["calib"]
    session.cancelled = session.asked
    app.run()
    assert "The analysis was cancelled." in " ".join(each.value for each in app.info)
    app.button(key="analyse_anyway").click().run()
    assert not app.info


def test_another_choice_is_another_analysis() -> None:
    app = go(start(), "reliability")
    session = app.session_state["calib"]
    session.cancelled = session.asked
    go(app, "compare")
    assert session.cancelled is None


def test_a_report_of_another_size_is_refused(tmp_path: Path) -> None:
    app = go(start(), "reports")
    app.file_uploader[-1].upload("report.json", b"{" + b" " * 21 * 2**20, "application/json").run()
    assert "is larger than 20 MB" in said(app)
