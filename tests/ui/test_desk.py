from calib.ui.report_browser import LONGEST_ID, Desk


def test_the_address_alone_says_which_report_is_open():
    desk = Desk()
    desk.read({"report": "a", "against": "b", "bins": "9"}, again=False)
    assert desk.address() == {"report": "a", "against": "b"}
    desk.read({"bins": "9"}, again=True)
    assert desk.address() == {}


def test_a_report_is_held_against_another_only_where_one_is_open():
    desk = Desk()
    desk.read({"against": "b"}, again=False)
    assert desk.address() == {}


def test_the_browser_is_told_of_a_move_within_the_page_and_of_no_other():
    desk = Desk()
    desk.read({"report": "a"}, again=False)
    assert not desk.moved
    desk.read({"report": "a"}, again=True)
    assert not desk.moved
    desk.read({"report": "b"}, again=True)
    assert desk.moved
    desk.read({}, again=True)
    assert desk.moved


def test_another_report_closes_the_question_about_the_last():
    desk = Desk(report="a", asking="delete")
    desk.read({"report": "a"}, again=True)
    assert desk.asking == "delete"
    desk.read({"report": "b"}, again=True)
    assert desk.asking == ""


def test_an_id_of_any_length_is_cut():
    desk = Desk()
    desk.read({"report": "x" * 10_000}, again=False)
    assert len(desk.report) == LONGEST_ID
