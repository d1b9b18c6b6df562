from calib.ui.session.team_reports import MAX_ID_CHARACTERS, TeamReports


def test_the_address_alone_says_which_report_is_open():
    browser = TeamReports()
    browser.read({"report": "a", "against": "b", "bins": "9"}, again=False)
    assert browser.address() == {"report": "a", "against": "b"}
    browser.read({"bins": "9"}, again=True)
    assert browser.address() == {}


def test_a_report_is_held_against_another_only_where_one_is_open():
    browser = TeamReports()
    browser.read({"against": "b"}, again=False)
    assert browser.address() == {}


def test_the_browser_is_told_of_a_move_within_the_page_and_of_no_other():
    browser = TeamReports()
    browser.read({"report": "a"}, again=False)
    assert not browser.moved
    browser.read({"report": "a"}, again=True)
    assert not browser.moved
    browser.read({"report": "b"}, again=True)
    assert browser.moved
    browser.read({}, again=True)
    assert browser.moved


def test_another_report_closes_the_question_about_the_last():
    browser = TeamReports(report="a", asking="delete")
    browser.read({"report": "a"}, again=True)
    assert browser.asking == "delete"
    browser.read({"report": "b"}, again=True)
    assert browser.asking == ""


def test_an_id_of_any_length_is_cut():
    browser = TeamReports()
    browser.read({"report": "x" * 10_000}, again=False)
    assert len(browser.report) == MAX_ID_CHARACTERS
