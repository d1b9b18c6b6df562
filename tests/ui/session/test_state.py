"""The session: choices, its address, its data."""

import gc
from dataclasses import replace
from weakref import ref

import numpy as np

from calib.analysis import LiveAnalysis
from calib.crossfit.settings import Settings, default_settings
from calib.data.base import no_progress
from calib.data.predictions import Predictions
from calib.loading import read
from calib.ui.session.choices import AXIS, METHODS, MODEL, N_BINS, STRATEGY, VIEW, Chosen
from calib.ui.session.links import Link
from calib.ui.session.session import FIRST_EXAMPLE, Session
from calib.ui.session.state import analysis, best_model, model_name, models, predictions
from calib.ui.session.upload import Upload


def made(n: int = 200) -> Upload:
    rng = np.random.default_rng(0)
    p = rng.random(n).round(6)
    y = rng.random(n) < p
    lines = [f"{int(hit)},{score}" for hit, score in zip(y, p, strict=True)]
    return Upload.of(read("y,p\n" + "\n".join(lines) + "\n"))


def of_column(*cells: str) -> Upload:
    scores = [0.1, 0.3, 0.4, 0.6, 0.7, 0.9] * 5
    areas = [*cells, *["south"] * (len(scores) - len(cells))]
    lines = [
        f"{int(score > 0.5)},{score},{area}" for score, area in zip(scores, areas, strict=True)
    ]
    return Upload.of(read("y,p,area\n" + "\n".join(lines) + "\n"))


def analysed(upload: Upload) -> tuple[Session, LiveAnalysis]:
    session = Session()
    session.take(upload)
    assert upload.predictions is not None
    session.adapt_to_data(upload.predictions)
    return session, analysis(session, upload.predictions)


def test_sessions_with_the_same_file_share_its_results_and_no_others():
    session, first = analysed(of_column("north", "north"))
    other_session, again = analysed(of_column("north", "north"))
    assert again is first
    assert again.held_out is first.held_out
    # One cell of a column differs that no setting uses.
    _, changed = analysed(of_column("north", "south"))
    assert changed.held_out is not first.held_out
    assert changed.table().equals(first.table())
    # The link of a session opens nothing of it elsewhere.
    linked = Session.from_link(session.link())
    assert linked.waits
    assert not models(linked)
    assert not linked.memo.held
    assert other_session.memo.held.keys() == session.memo.held.keys()


def test_a_persons_results_are_freed_with_the_last_session_that_has_them():
    session, first = analysed(of_column("west"))
    other_session = analysed(of_column("west"))[0]
    result = ref(first.held_out)
    del session, first
    gc.collect()
    assert result() is not None
    del other_session
    gc.collect()
    assert result() is None


def test_every_choice_is_in_the_address_and_comes_back():
    session = Session()
    session.change(N_BINS, 20)
    session.change(AXIS, "logit")
    session.choose_example("svm")
    again = Session.from_link(session.link())
    assert (again.chosen, again.example) == (Chosen.of({N_BINS: 20, AXIS: "logit"}), "svm")


def test_reset_puts_back_one_choice_or_all():
    session = Session(Chosen.of({N_BINS: 20, STRATEGY: "uniform", AXIS: "logit"}))
    session.reset(N_BINS)
    assert session.settings == Settings(strategy="uniform")
    session.reset(AXIS)
    assert session.chosen == Chosen.of({STRATEGY: "uniform"})
    session.reset_all()
    assert session.settings == Settings()


def test_a_link_carries_no_data_and_checks_the_fingerprint():
    upload = made()
    session = Session()
    session.take(upload)
    link = session.link()
    known = upload.predictions.fingerprint[:12]
    assert link == {"v": "1", "data": known, "file": upload.files, "rows": "200"}
    other = Session.from_link(link)
    assert other.waits
    assert models(other) == {}
    assert other.link() == link
    other.receive(made(201))
    assert other.waits
    assert other.offered is not None
    other.receive(upload)
    assert other.upload is upload
    assert other.offered is None
    assert not other.waits
    other.receive(made(201))
    assert other.upload is not upload
    again = Session.from_link(link)
    again.choose_example(FIRST_EXAMPLE)
    assert not again.waits


def test_an_example_replaces_an_upload_and_its_declaration():
    session = Session()
    session.take(made())
    session.unseen = "yes"
    session.choose_example("svm")
    assert session.upload is None
    assert session.unseen == "unknown"


def test_each_file_has_its_own_answer_on_whether_its_rows_are_held_out():
    session, one, two = Session(), made(), made(201)
    session.take(one)
    session.unseen = "yes"
    session.take(two)
    assert session.unseen == "unknown"
    session.unseen = "no"
    # A file of the session is opened again as the menu of the data and the search do.
    session.take(next(file for file in session.recent if file.table is one.table))
    assert session.unseen == "yes"
    assert [file.unseen for file in session.recent] == ["yes", "no"]
    assert session.upload is session.recent[0]
    session.take(session.upload.mapped(session.upload.mapping))
    assert session.unseen == "yes"
    # Test rows are other rows.
    session.take(session.upload.with_test(made(50).table))
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


def matrix(m: int = 4) -> Predictions:
    scores = np.full((60, m), 1.0 / m)
    return Predictions.from_arrays(np.arange(60) % m, scores)


def binary() -> Predictions:
    return Predictions.from_arrays(np.arange(60) % 2, np.linspace(0.1, 0.9, 60))


def test_data_bring_their_own_start_and_choices_stay():
    session = Session()
    session.change(N_BINS, 20)
    session.adapt_to_data(matrix())
    start = default_settings(matrix())
    assert session.settings == replace(start, n_bins=20)
    assert session.link() == {"v": "1", "bins": "20"}
    session.adapt_to_data(binary())
    assert session.settings == Settings(view="class:1", n_bins=20)


def test_a_link_keeps_what_it_names_though_another_start_has_it():
    # "class:1" is the first view for single scores, but not for a matrix.
    session = Session.from_link({"view": "class:1"})
    session.adapt_to_data(matrix())
    assert session.settings.view == "class:1"
    assert session.link()["view"] == "class:1"
    session.reset(VIEW)
    session.adapt_to_data(matrix())
    assert session.settings.view == "top:1"


def test_what_does_not_fit_the_data_is_left_behind():
    session = Session.from_link({"view": "class:3", "m": "vector.platt"})
    session.adapt_to_data(matrix(3))
    assert session.settings.view == "top:1"
    assert "'class:3'" in session.refused[0]
    assert session.settings.methods == ("uncalibrated", "vector", "platt")
    session.adapt_to_data(binary())
    assert session.settings.methods == ("uncalibrated", "platt")
    session.adapt_to_data(matrix(3))
    assert len(session.refused) == 1


def test_another_example_has_other_classes():
    session = Session.from_link({"ex": "digits", "view": "class:3"})
    session.choose_example("svm")
    session.adapt_to_data(binary())
    assert session.settings == default_settings(binary())
    assert session.refused == ()


def test_a_followed_link_brings_its_settings_to_other_data():
    session = Session.from_link({"ex": "digits"})
    session.adapt_to_data(matrix())
    session.follow(Link(Chosen.of({METHODS: ("beta",), N_BINS: 7}), example="svm"))
    session.adapt_to_data(binary())
    assert session.settings == Settings(view="class:1", methods=("beta",), n_bins=7)
    session.follow(Link(Chosen.of({N_BINS: 9}), example="digits"))
    session.adapt_to_data(matrix())
    assert session.settings == replace(default_settings(matrix()), n_bins=9)


def several(*names: str) -> Upload:
    lines = [
        f"{name},{i % 2},{(i % 7 + 1) / (9 + k)}" for i in range(80) for k, name in enumerate(names)
    ]
    return Upload.of(read("model,y,p\n" + "\n".join(lines) + "\n"))


def test_the_chosen_model_is_shown_or_else_the_first():
    session = Session(page="Overview")
    session.take(several("b", "c", "a"))
    assert model_name(session) == "b"
    session.change(MODEL, "c")
    assert predictions(session) is models(session)["c"]
    # Another mapping of the file has this model too.
    session.take(several("d", "c"))
    assert session[MODEL] == "c"
    session.take(several("d", "e"))
    assert model_name(session) == "d"
    assert MODEL not in session.explicit


def test_every_model_keeps_its_own_last_result():
    session = Session()
    session.take(several("a", "b", "c"))
    session.change(METHODS, ("uncalibrated",))
    rows = models(session)
    for _ in range(2):
        found = {name: analysis(session, one, no_progress) for name, one in rows.items()}
    assert len(session.latest) == 3
    assert [a.data.fingerprint for a in found.values()] == [
        one.fingerprint for one in rows.values()
    ]


def test_the_best_model_is_that_of_the_lowest_held_out_loss():
    session = Session()
    session.take(several("b", "c", "a"))
    session.change(METHODS, ("uncalibrated",))
    best = best_model(session, no_progress)
    losses = {
        name: analysis(session, rows).uncalibrated.metrics["log_loss"].value
        for name, rows in models(session).items()
    }
    assert best.name == min(losses, key=losses.get) != "b"
    assert {name: one.value for name, one in best.log_losses.items()} == losses


def test_a_session_without_its_results_computes_them_anew():
    session = Session()
    session.take(several("a"))
    session.change(METHODS, ("uncalibrated",))
    rows = predictions(session)
    first = ref(analysis(session, rows, no_progress))
    assert analysis(session, rows, no_progress) is first()
    session.free_results()
    gc.collect()
    # No other part of the session keeps it.
    assert first() is None
    assert analysis(session, rows, no_progress).data.n_rows == rows.n_rows


def test_files_of_several_models_have_one_fingerprint():
    one, two = several("a", "b"), several("a", "c")
    assert one.fingerprint != two.fingerprint != one.models["a"].fingerprint
    assert one.name == "pasted text"
