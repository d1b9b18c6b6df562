"""The session: choices, its address, its data."""

import numpy as np

from calib.loading import read
from calib.settings import Settings
from calib.ui.links import Look
from calib.ui.state import FIRST_EXAMPLE, Session
from calib.ui.upload import Upload


def made(n: int = 200) -> Upload:
    rng = np.random.default_rng(0)
    p = rng.random(n).round(6)
    y = rng.random(n) < p
    lines = [f"{int(hit)},{score}" for hit, score in zip(y, p, strict=True)]
    return Upload.of(read("y,p\n" + "\n".join(lines) + "\n"))


def test_every_choice_is_in_the_address_and_comes_back():
    session = Session()
    session.change("n_bins", 20)
    session.change("axis", "logit")
    session.choose_example("svm")
    again = Session.from_link(session.link())
    assert (again.settings, again.look, again.example) == (
        Settings(n_bins=20),
        Look(axis="logit"),
        "svm",
    )


def test_reset_puts_back_one_choice_or_all():
    session = Session(Settings(n_bins=20, strategy="uniform"), Look(axis="logit"))
    session.reset("n_bins")
    assert session.settings == Settings(strategy="uniform")
    session.reset("axis")
    assert session.look == Look()
    session.reset()
    assert session.settings == Settings()


def test_a_link_carries_no_data_and_checks_the_fingerprint():
    upload = made()
    session = Session()
    session.take(upload)
    link = session.link()
    assert link == {"v": "1", "data": upload.predictions.fingerprint[:12]}
    other = Session.from_link(link)
    assert other.example == FIRST_EXAMPLE
    assert other.other_data
    other.take(upload)
    assert not other.other_data
    other.take(made(201))
    assert other.other_data


def test_an_example_replaces_an_upload_and_its_declaration():
    session = Session()
    session.take(made())
    session.unseen = "yes"
    session.choose_example("svm")
    assert session.upload is None
    assert session.unseen == "unknown"


def test_an_upload_keeps_its_table_for_another_mapping():
    upload = Upload.of(read("y,p\n" + "0,20\n1,80\n0,30.5\n1,99\n0,70\n" * 30))
    assert upload.predictions is None
    percent = next(problem for problem in upload.problems if problem.code == "percent")
    repaired = upload.mapped(percent.repair)
    assert repaired.predictions.scores.max() == 0.99
    assert repaired.table is upload.table


def test_test_rows_can_be_added_and_taken_away():
    upload = made()
    both = upload.with_test(made(50).table)
    assert len(both.predictions) == 250
    assert both.predictions.test.sum() == 50
    assert both.with_test(None).predictions.fingerprint == upload.predictions.fingerprint
