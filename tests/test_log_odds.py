"""Log-odds beyond the ends of float64's probabilities: nothing depends on their unit."""

import numpy as np
import pytest
from scipy.special import log_softmax

import calib
from calib.data.file_options import Columns
from calib.data.predictions import Predictions
from calib.loading.building.models import calibrate_table
from calib.loading.checking.inspection import examine
from calib.loading.reading.reader import read
from calib.numerics.transforms import FAR, probabilities, sigmoid
from calib.reports import Report
from calib.reports.verify import verify_report

ON_LOG_ODDS = ("temperature", "logistic", "beta", "beta_am")
ON_RANKS = ("venn_abers",)


def logits(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(0.3, 2.0, n)
    return z, (rng.random(n) < sigmoid(z)).astype(int)


def csv(z, y):
    return "y,z\n" + "\n".join(f"{outcome},{value!r}" for value, outcome in zip(z, y, strict=True))


def test_different_log_odds_have_different_scores_in_their_order():
    z = np.array([-np.inf, -1e5, -900.0, -800.0, -700.0, -50.0, 2.0, 40.0, 45.0, 60.0, 1e5, np.inf])
    scores, far = probabilities(z)
    assert (np.diff(scores) > 0.0).all()
    assert scores == pytest.approx(sigmoid(z), abs=1e-12)
    assert scores[-1] == 1.0
    assert far.of(scores)[1:-1] == pytest.approx(z[1:-1], rel=1e-15)
    assert far.of(scores)[[0, -1]].tolist() == [-1e5, 1e5]


def test_log_odds_that_probabilities_hold_give_the_same_numbers_as_these():
    z, y = logits()
    given, plain = Predictions.from_arrays(y, log_odds=z), Predictions.from_arrays(y, sigmoid(z))
    assert np.abs(z).max() < FAR
    assert given.far is None
    assert given.fingerprint == plain.fingerprint


def test_a_file_of_log_odds_keeps_them():
    z, y = [40.0, 50.0, 60.0, 45.0] * 10, [0, 1, 1, 0] * 10
    loaded = calib.load(csv(z, y), outcome="y", score="z", transform="logit")
    assert calib.metrics.auc(loaded.outcome, loaded.scores) == 1.0
    assert loaded.view().log_odds.tolist() == z
    swapped = calib.load(csv(z, y), outcome="y", score="z", transform="logit", swap=True)
    assert swapped.view().log_odds.tolist() == (-np.array(z)).tolist()


def test_fingerprints_tell_log_odds_apart():
    near, farther = (Predictions.from_arrays([0, 1], log_odds=[40.0, z]) for z in (50.0, 60.0))
    assert np.array_equal(near.scores, farther.scores)
    assert near.fingerprint != farther.fingerprint


@pytest.mark.parametrize("unit", [50.0, 1000.0])
@pytest.mark.parametrize("split", ["folds", "test rows", "clusters"])
def test_the_unit_of_log_odds_makes_no_difference_to_methods_on_them(unit, split):
    z, y = logits()
    settings = calib.Settings(methods=("uncalibrated", *ON_LOG_ODDS, *ON_RANKS))
    others = {
        "folds": {},
        "test rows": {"test": np.arange(len(y)) % 2 == 0},
        "clusters": {"group": np.arange(len(y)) // 3, "fold": np.arange(len(y)) // 3 % 5},
    }[split]
    small, large = (
        calib.analyze(Predictions.from_arrays(y, log_odds=scale * z, **others), settings).table()
        for scale in (1.0, unit)
    )
    columns = ["log_loss", "log_loss_low", "log_loss_high", "brier_score", "auc"]
    same = ["temperature", "logistic", "beta_am"]
    assert large.loc[same, columns].to_numpy() == pytest.approx(
        small.loc[same, columns].to_numpy(), abs=1e-6
    )
    assert large.loc["venn_abers", "auc"] == pytest.approx(small.loc["venn_abers", "auc"])
    assert large.loc["uncalibrated", "auc"] == pytest.approx(small.loc["uncalibrated", "auc"])
    # Beta has other functions of the log-odds, of which a line is the limit.
    assert large.loc["beta", "log_loss"] == pytest.approx(small.loc["beta", "log_loss"], abs=2e-3)
    scored = others.get("test", np.ones(len(y), dtype=bool))
    loss = np.logaddexp(0.0, np.where(y == 1, -unit * z, unit * z))[scored].mean()
    assert large.loc["uncalibrated", "log_loss"] == pytest.approx(loss, rel=1e-9)


def analysed(unit, *methods):
    z, y = logits()
    predictions = Predictions.from_arrays(y, log_odds=unit * z, name="margins")
    return calib.analyze(predictions, calib.Settings(methods=methods))


@pytest.mark.parametrize("suffix", [".json", ".py", ".js", ".sql", ".onnx"])
@pytest.mark.parametrize("method", ["logistic", "beta", "stack"])
def test_exported_code_reads_the_log_odds_of_the_file(method, suffix, tmp_path):
    analysis = analysed(50.0, method)
    path = tmp_path / f"map{suffix}"
    fitted = analysis.held_out.calibrators[method]
    calib.export(fitted, path, analysis=analysis, transform="logit")
    if suffix == ".json":
        z = np.array([-900.0, -300.0, -40.0, 5.0, 45.0, 300.0])
        expected = fitted.predict(sigmoid(z), z)
        assert calib.load_calibrator(path).predict(z) == pytest.approx(expected, abs=1e-12)
        swapped = tmp_path / "swapped.json"
        calib.export(fitted, swapped, analysis=analysis, transform="logit", swap=True)
        assert calib.load_calibrator(swapped).predict(-z) == pytest.approx(expected, abs=1e-12)


def test_exported_code_of_scores_says_what_it_loses(tmp_path, texts):
    analysis = analysed(50.0, "isotonic")
    with pytest.warns(RuntimeWarning) as caught:
        calib.export(
            analysis.held_out.calibrators["isotonic"],
            tmp_path / "map.json",
            analysis=analysis,
            transform="logit",
        )
    texts(str(caught[0].message))


def test_counts_say_what_they_lose(texts):
    with pytest.warns(RuntimeWarning) as caught:
        counted = calib.aggregate(Predictions.from_arrays([0, 1, 1], log_odds=[1.0, 50.0, 60.0]))
    texts(str(caught[0].message))
    assert counted.table.n_cells == 3


@pytest.mark.parametrize("grade", ["exact", "guarded"])
def test_reports_are_verified_without_the_log_odds(grade):
    report = Report.from_analysis(analysed(50.0, "logistic"), grade=grade)
    assert report.evidence.uncounted == "log_odds"
    verified = verify_report(report.json())
    assert "log-odds" in " ".join(verified.not_verified)


def test_lost_logits_are_counted():
    text = "y,a,b\n" + "0,0.5,0.25\n1,0,900\n0,800,1.5\n1,2,-4\n" * 5
    table, mapping = read(text), Columns(outcome="y", score=("a", "b"), transform="softmax")
    problems, _ = examine(table, mapping)
    (lost,) = [problem for problem in problems if problem.code == "lost-logits"]
    assert lost.severity == "note"
    assert lost.sentence.startswith("10 logits")


def test_new_scores_are_calibrated_by_their_log_odds(texts):
    analysis = analysed(50.0, "logistic")
    fitted = analysis.held_out.calibrators["logistic"]
    z = np.array([-np.inf, -300.0, 45.0, 60.0, np.inf])
    mapping = Columns(score="z", transform="logit")
    table = read("id,z\n" + "\n".join(f"{i},{value}" for i, value in enumerate(z.tolist())))
    frame = calibrate_table(table, mapping, fitted.predict).frame
    line = sigmoid(fitted.intercept_ + fitted.slope_ * z[1:-1])
    assert frame["calibrated"].to_numpy() == pytest.approx([0.0, *line, 1.0], abs=1e-12)
    with texts.raises(ValueError):
        fitted.predict([0.5], [np.nan])


@pytest.mark.parametrize("certain", [False, True])
def test_rows_of_a_matrix_that_the_log_loss_clips_are_counted(certain, texts):
    rng = np.random.default_rng(4)
    z = rng.normal(size=(300, 3))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    z *= 50.0
    if certain:
        z[0, y[0]] = -np.inf
    rows = Predictions.from_arrays(y, log_odds=z)
    below = log_softmax(z, axis=1)[np.arange(300), y]
    clipped = below < np.log(np.finfo(float).eps)
    assert clipped.sum() > 5
    compared = calib.analyze(rows, {"methods": ()}).multiclass
    (note,) = (note for note in compared.notes if "2.2e-16" in note)
    # A score of 0 is counted as 2.2e-16.
    loss = -np.where(np.isfinite(below), below, np.log(np.finfo(float).eps)).mean()
    assert note.startswith(f"{clipped.sum()} rows")
    assert note.endswith(f" {'at least ' if certain else ''}{loss:.4f}.")
    assert calib.metrics.multiclass_log_loss(rows.outcome, rows.scores) < loss
    texts(note)


def test_no_row_is_counted_if_the_log_loss_clips_none():
    rng = np.random.default_rng(5)
    rows = Predictions.from_arrays(np.arange(90) % 3, log_odds=rng.normal(size=(90, 3)))
    assert calib.analyze(rows, {"methods": ()}).multiclass.notes == ()
