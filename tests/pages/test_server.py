"""What one session may take of the server that all share."""

import gzip

from calib.ui.controls import uploaders
from tests.loading.bombs import BOMBS
from tests.pages.harness import drop, dropped, go, press, rows, said, session_of, start
from tests.rare import rare


@rare
def test_a_packed_file_is_read_apart() -> None:
    session = dropped({"mine.csv.gz": gzip.compress(rows().encode())})
    assert session.upload.table.name == "mine"
    uploaders.file_reader().close()


@rare
def test_a_bomb_is_refused_in_a_sentence_and_what_was_shown_stays(texts) -> None:
    app = start("Data", rows(), m="platt")
    bomb = BOMBS["Parquet: a word of 1 MB in 100,000 rows"]()
    drop(app, "data_file", bomb, "bomb.parquet")
    texts.shown(said(app))
    assert session_of(app).upload.table.name == "mine"
    uploaders.file_reader().close()


def test_a_cancelled_analysis_waits_until_it_is_asked_for_again(texts) -> None:
    app = start("Reliability", m="platt")
    session = session_of(app)
    session.cancelled = session.asked
    app.run()
    texts.shown(" ".join(each.value for each in app.info))
    assert not press(app, "analyse_anyway").info
    # Another choice, or page, is another analysis.
    session.cancelled = session.asked
    go(app, "Calibrators")
    assert session.cancelled is None


def test_a_report_of_another_size_is_refused(texts) -> None:
    app = start("Reports", m="platt")
    drop(app, "report_file", b"{" + b" " * 21 * 2**20, "report.json")
    texts.shown(said(app))
