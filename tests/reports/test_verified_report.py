"""Reports recomputed from the counts that they carry, whole and tampered with."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass, replace
from functools import cache, reduce
from itertools import product
from pathlib import Path
from types import UnionType
from typing import Union, get_args, get_origin

import numpy as np
import pytest

import calib
from calib.analysis.decisions import Costs
from calib.data.aggregate import Aggregate
from calib.data.predictions import Predictions
from calib.data.strict_json import entries_of
from calib.metrics import expected_calibration_error, ks_error
from calib.reports import Report, ReportError, parts_of
from calib.reports.contents.codec import encode, upgraded
from calib.reports.contents.evidence import GRADES, TIME
from calib.reports.contents.structure import Contents
from calib.reports.proof.ranges import HeldOutCells
from calib.reports.proof.recomputing import UNCOUNTED_PLACES, WORDS, differences
from calib.reports.proof.sealing import seal_of
from calib.reports.verified_report import NotVerified, ReportValues, verify_report
from tests.fuzz.reports import report as with_periods
from tests.rare import common_first, rare
from tests.reports.tampering import changed_leaf, leaves, random_predictions

ROOT = Path(__file__).parents[2]
N_ROWS = 1200
FAST = calib.Settings(methods=("platt", "isotonic"))
KINDS = ["plain", "ties", "weights", "test rows", "folds", "clusters", "matrix", "counts"]


def drawn(kind: str) -> Predictions:
    rng = np.random.default_rng(7)
    score = rng.beta(0.7, 0.9, N_ROWS)
    score = score.round(2) if kind in ("ties", "clusters") else score
    outcome = rng.random(N_ROWS) < 0.1 + 0.7 * score
    if kind == "matrix":
        given = rng.dirichlet(np.ones(3), N_ROWS)
        return Predictions.from_arrays((given.cumsum(1) < rng.random((N_ROWS, 1))).sum(1), given)
    columns = {
        "site": rng.choice(["north", "south", "west", "isle"], N_ROWS, p=[0.5, 0.3, 0.195, 0.005]),
        "age": rng.normal(50.0, 15.0, N_ROWS),
        "day": np.datetime64("2024-01-01") + rng.integers(0, 200, N_ROWS),
    }
    more = {
        "weights": {"sample_weight": rng.exponential(size=N_ROWS) + 0.1},
        "test rows": {"test": rng.random(N_ROWS) < 0.5},
        "folds": {"fold": rng.choice(["a", "b", "c"], N_ROWS)},
        "clusters": {"group": rng.integers(0, 200, N_ROWS)},
    }.get(kind, {})
    return replace(
        Predictions.from_arrays(outcome, score, columns=columns, **more), time_name="day"
    )


@cache
def report_of(kind: str, grade: str) -> Report:
    rows = drawn(kind)
    settings = FAST
    if kind == "matrix":
        settings = calib.Settings(methods=("temperature",), view="top:1")
    if kind == "counts":
        rows = calib.aggregate(rows)
    analysis = calib.analyze(rows, settings)
    slices = [(name,) for name in rows.columns if name != rows.time_name]
    if "site" in rows.columns and kind != "counts":
        slices.append(("site", "age"))
    parts = parts_of(rows, analysis, slices=slices, costs=Costs(false_negative=4))
    return Report.from_analysis(analysis, parts=parts, grade=grade)


@pytest.fixture(scope="module")
def small() -> dict[str, Report]:
    """Of each grade, quick to recompute."""
    rng = np.random.default_rng(1)
    score = rng.random(400)
    columns = {"site": rng.choice(["north", "south"], 400)}
    rows = Predictions.from_arrays(rng.random(400) < score**1.5, score, columns=columns)
    analysis = calib.analyze(rows, calib.Settings(methods=("platt",)))
    parts = parts_of(rows, analysis, costs=Costs(false_negative=2))
    return {
        grade: Report.from_analysis(analysis, parts=parts, grade=grade)
        for grade in ("guarded", "exact")
    }


@pytest.mark.parametrize(
    ("kind", "grade"),
    common_first(
        product(KINDS, ("exact", "guarded")),
        [("folds", "exact")],
    ),
)
def test_a_report_is_recomputed(kind: str, grade: str):
    report = report_of(kind, grade)
    verified = verify_report(report.json())
    needs_rows = {"clusters": "which rows belong together", "matrix": "all classes of a row"}
    if kind in needs_rows:
        assert needs_rows[kind] in verified.not_verified[0]
    else:
        assert verified.n_verified > {"guarded": 1000, "exact": 2000}[grade]
        assert report.evidence.can_be_refitted
        # The other sentence is about parts that have no counts.
        assert len(verified.not_verified) == 2
    words = {"guarded": "within what its merged cells allow", "exact": "to the last bit"}
    if report.evidence.can_be_refitted:
        assert words[grade] in verified.sentence


@pytest.mark.parametrize(
    "kind", common_first(["plain", "weights", "test rows", "folds", "counts"], ["weights"])
)
def test_every_cell_of_a_guarded_report_holds_ten_rows(kind: str):
    evidence = report_of(kind, "guarded").evidence
    for table, strata in (
        (evidence.cells.table, evidence.cells.strata),
        (evidence.methods.table, evidence.methods.strata),
    ):
        key = np.column_stack([table.stratum, table.key])
        _, cell = np.unique(key, axis=0, return_inverse=True)
        assert np.bincount(cell.reshape(-1), table.rows).min() >= 10
        assert len(strata.part) >= 1
        # Both outcomes of a cell have the same numbers, except for their counts.
        for name in ("low", "high"):
            values = getattr(table, name)
            assert len(np.unique(np.column_stack([cell.reshape(-1), values]), axis=0)) == (
                cell.max() + 1
            )
    assert TIME in evidence.columns
    assert evidence.methods.time_name == ""


def test_a_time_that_fewer_than_ten_rows_have_is_in_no_report():
    rng = np.random.default_rng(2)
    score, days = rng.random(300), np.full(300, np.datetime64("NaT"), dtype="datetime64[D]")
    days[:6] = np.datetime64("2024-01-01")
    rows = Predictions.from_arrays(rng.random(300) < score, score, columns={"day": days})
    rows = replace(rows, time_name="day")
    analysis = calib.analyze(rows, calib.Settings(methods=()))
    report = Report.from_analysis(analysis, parts=parts_of(rows, analysis))
    assert report.parts.periods is None
    assert "too few rows have a time" in report.parts.notes[0]
    verify_report(report.json())


def test_a_guarded_report_has_at_most_8192_cells_per_method():
    rng = np.random.default_rng(0)
    score = rng.random(150_000)
    rows = Predictions.from_arrays(rng.random(150_000) < score, score)
    report = Report.from_analysis(calib.analyze(rows, calib.Settings(methods=("platt",))))
    for key in report.analysis.methods:
        assert 4000 < len(np.unique(report.evidence.table(key)[1].key)) <= 8192


@pytest.mark.parametrize("kind", ["plain", "weights", "test rows"])
def test_what_is_printed_lies_within_what_the_cells_allow(kind: str):
    """The true numbers of the rows lie within ranges that are found from merged cells alone."""
    report = report_of(kind, "guarded")
    for key in ("uncalibrated", "platt"):
        cells = HeldOutCells.of(report.evidence.table(key)[1])
        metrics = report.analysis.methods[key].metrics
        widths = {"log_loss": 0.06, "brier_score": 0.02, "ks_error": 0.02}
        for name, width in widths.items():
            low, high = getattr(cells, name)
            assert low - 1e-9 <= metrics[name].value <= high + 1e-9
            assert high - low < width


def test_merged_cells_end_where_the_bins_of_the_report_do():
    report = report_of("plain", "guarded")
    for key in ("uncalibrated", "platt"):
        cells = report.evidence.scores(key)
        printed = report.analysis.methods[key].metrics
        assert ks_error(cells) == pytest.approx(printed["ks_error"].value, abs=1e-12)
        ece = expected_calibration_error(cells, n_bins=15, strategy="quantile")
        assert ece == pytest.approx(printed["ece_quantile"].value, abs=1e-12)


@rare
def test_another_process_gives_the_same_to_the_last_bit(small, tmp_path):
    small["exact"].save(tmp_path / "report.json")
    command = [sys.executable, "-W", "error", "-m", "calib", "verify", tmp_path / "report.json"]
    done = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0
    assert re.fullmatch(rb"calib: not verified: \d+ values: names, .*\)\.\n", done.stderr)
    assert b"equal to the last bit; " in done.stdout
    assert b" not verified; sealed, not signed" in done.stdout


@rare
@pytest.mark.parametrize("changes", common_first([10, 25], [10]))
@pytest.mark.parametrize("grade", ["guarded", "exact"])
def test_any_single_change_breaks_the_seal(small, grade: str, changes: int):
    data, rng = json.loads(small[grade].json()), np.random.default_rng(3)
    places = [place for place in leaves(data) if place[0] != "seal"]
    for at in rng.choice(len(places), changes, replace=False):
        changed = changed_leaf(data, places[at], rng)
        with pytest.raises(ReportError):
            verify_report(json.dumps(changed))


def resealed(data: dict) -> str:
    seal = seal_of(data)
    return json.dumps(data | {"seal": encode(seal)})


@rare
@pytest.mark.parametrize("changes", common_first([10, 20], [10]))
def test_a_change_under_a_new_seal_is_found_by_the_cells(small, changes: int):
    """Whoever seals again must still have cells that give the numbers."""
    data, rng = json.loads(small["exact"].json()), np.random.default_rng(4)
    places = [
        place
        for place in leaves({"analysis": data["analysis"], "parts": data["parts"]})
        if not UNCOUNTED_PLACES.match(".".join(map(str, place)).replace("slices.0", "slices[0]"))
    ]
    for at in rng.choice(len(places), changes, replace=False):
        changed = changed_leaf(data, places[at], rng)
        with pytest.raises(ReportError) as caught:
            verify_report(resealed(changed))
        assert "seal" not in str(caught.value)


def test_a_changed_cell_under_a_new_seal_is_found(small):
    report = small["exact"]
    for name in ("cells", "methods"):
        counted = getattr(report.evidence, name)
        rows = counted.table.rows.copy()
        rows[5] += 1
        table = replace(
            counted.table, rows=rows, weight=rows.astype(float), weight_sq=rows.astype(float)
        )
        evidence = replace(report.evidence, **{name: replace(counted, table=table)})
        changed = replace(report, evidence=evidence, seal=None)
        with pytest.raises(NotVerified, match="the cells give"):
            verify_report(resealed(json.loads(changed.json())))


def test_counts_that_no_rows_have_are_refused(small):
    data = json.loads(small["exact"].json())
    strata = data["evidence"]["cells"]["strata"]
    strata["test"] = [1] * len(strata["test"])  # No row is left for a fit.
    with pytest.raises(NotVerified, match="contradict each other"):
        verify_report(resealed(data))


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("methods", "parts", 1, 1), "a column", "must hold the scores of 'platt', got none."),
        (("methods", "columns", "rows"), "é", "a column of cells is no base64 text."),
        (("cells", "columns"), None, "the cells are damaged."),
        (("cells", "name"), 7, "the counts.name must be text, got 7."),
    ],
)
def test_forged_counts_are_refused_in_a_sentence(small, path, value, sentence):
    data = json.loads(small["exact"].json())
    *folders, last = path
    place = data["evidence"]
    for folder in folders:
        place = place[folder]
    place[last] = value
    with pytest.raises(ReportError) as caught:
        Report.open(json.dumps(data))
    assert str(caught.value).endswith(sentence)


def test_the_first_number_that_differs_is_named(small):
    data = json.loads(small["exact"].json())
    data["analysis"]["methods"]["platt"]["metrics"]["auc"]["high"] += 1e-15
    sentence = r"methods\.platt\.metrics\.auc\.high is 0\.\d+; the cells give 0\.\d+"
    with pytest.raises(NotVerified, match=sentence):
        verify_report(resealed(data))


@pytest.mark.parametrize("grade", GRADES)
def test_what_was_removed_under_a_new_seal_is_named(small, grade):
    data = json.loads(small[grade].json())
    data["parts"]["slices"] = []
    with pytest.raises(NotVerified, match="although its counts have it: the slices `north`"):
        verify_report(resealed(data))
    assert "decisions" in verify_report(small[grade].json()).not_verified[-1]


def test_a_method_and_periods_that_were_removed_under_a_new_seal_are_named():
    data = json.loads(with_periods().json())
    data["parts"] |= {"periods": None, "time": "", "unit": ""}
    del data["analysis"]["methods"]["isotonic"]
    names = "the method `isotonic` and the periods `2026 Q1`"
    with pytest.raises(NotVerified, match=f"although its counts have it: {names}"):
        verify_report(resealed(data))


def test_a_guarded_report_is_consistent_and_an_exact_one_passes(small):
    results = {grade: verify_report(small[grade].json()).sentence for grade in GRADES}
    assert {grade: text.partition(":")[0] for grade, text in results.items()} == {
        "guarded": "consistent",
        "exact": "pass",
    }


def test_a_guarded_number_is_found_by_its_cells_or_by_the_seal(small):
    report = small["guarded"]
    place = "analysis.methods.platt.metrics.log_loss.value"
    for share, seal in ((1.2, "resealed"), (1.0 + 1e-9, "broken")):
        data = json.loads(report.json())
        data["analysis"]["methods"]["platt"]["metrics"]["log_loss"]["value"] *= share
        text = resealed(data) if seal == "resealed" else json.dumps(data)
        with pytest.raises(NotVerified, match=place if seal == "resealed" else "seal is broken"):
            verify_report(text)


def kinds_of(report: Report) -> list[tuple[tuple, bool]]:
    """One place of each kind of value, and whether it is counted as not verified."""
    data = encode(report)
    unverified = set(ReportValues.of(report, report.evidence, data).unverified)
    rng, by_kind = np.random.default_rng(0), {}
    for place in leaves({k: v for k, v in data.items() if k not in ("evidence", "seal")}):
        name = "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in place)[1:]
        kind = (re.sub(r"\[\d+\]", "", name), name in unverified)
        by_kind.setdefault(kind, []).append(place)
    return [
        (places[rng.integers(len(places))], is_unverified)
        for (_, is_unverified), places in by_kind.items()
    ]


def forged(value) -> list:
    """Values of the same kind that lie half of it beside it."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return [f"{value}x"]
    if isinstance(value, int):
        return [value + max(abs(value) // 2, 1), value - max(abs(value) // 2, 1)]
    return [0.5, -0.5] if not value else [1.5 * value, 0.5 * value]


@rare
@pytest.mark.parametrize("part", common_first(range(24), [0]))
def test_what_can_be_forged_under_a_new_seal_is_counted_as_not_verified(small, part: int):
    """Whatever is changed alone and passes is counted; what is not counted does not pass."""
    report = small["guarded"]
    for place, is_free in kinds_of(report)[part::24]:
        data, passed = json.loads(report.json()), []
        folder = reduce(lambda at, name: at[name], place[:-1], data)
        for value in forged(folder[place[-1]]):
            folder[place[-1]] = value
            try:
                passed.append(verify_report(resealed(data)))
            except ReportError:
                continue
        assert is_free or not passed, place


def test_numbers_of_a_guarded_report_that_were_free_are_found_or_counted():
    """Each passed with its bound forged too, as bounds stood in the file."""
    rows = calib.examples.EXAMPLES["naive_bayes"].load()
    report = Report.from_analysis(calib.analyze(rows, calib.Settings(methods=("platt",))))
    text, not_verified = report.json(), verify_report(report.json()).not_verified[0]
    scores = ("methods", "uncalibrated")
    changes = {
        (*scores, "metrics", "ece_quantile", "value"): 0.009,
        (*scores, "metrics", "ece_uniform", "value"): 0.009,
        (*scores, "metrics", "mce", "value"): 0.02,
        (*scores, "ks", "p_value"): 0.9,
        (*scores, "tests", "kuiper", "p_value"): 0.9,
        (*scores, "tests", "spiegelhalter", "p_value"): 0.9,
        ("verdict", "p_adjusted", "ks"): 0.9,
        ("methods", "platt", "differences", "log_loss", "value"): -0.2,
        ("methods", "platt", "differences", "brier_score", "value"): -0.2,
    }
    for place, value in changes.items():
        data = json.loads(text)
        reduce(lambda at, name: at[name], place[:-1], data["analysis"])[place[-1]] = value
        with pytest.raises(NotVerified):
            verify_report(resealed(data))
    data = json.loads(text)
    curve = data["analysis"]["methods"]["uncalibrated"]["reliability"]
    curve["observed"] = curve["mean_score"]
    with pytest.raises(NotVerified, match=r"reliability\.observed"):
        verify_report(resealed(data))
    assert "fitted calibrators (" in not_verified
    assert "tests (" in not_verified


@pytest.mark.parametrize("name", ["evidence", "seal"])
def test_a_report_without_counts_or_seal_is_refused(name, report, texts):
    with texts.raises(ReportError):
        verify_report(json.dumps(json.loads(report.json()) | {name: None}))


def test_more_distinct_scores_than_an_exact_report_holds_are_refused(texts):
    rng = np.random.default_rng(0)
    score = rng.random(51_000)
    rows = Predictions.from_arrays(rng.random(51_000) < score, score)
    analysis = calib.analyze(rows, calib.Settings(methods=()))
    with texts.raises(ValueError):
        Report.from_analysis(analysis, grade="exact")
    with texts.raises(ValueError):
        Report.from_analysis(analysis, grade="none")


@pytest.mark.parametrize("seed", common_first(range(25), [0]))
def test_random_analyses_verify(seed: int):
    rows, settings, costs = random_predictions(np.random.default_rng(seed))
    analysis = calib.analyze(rows, settings)
    parts = parts_of(rows, analysis, costs=costs)
    for grade in ("exact", "guarded"):
        verify_report(Report.from_analysis(analysis, parts=parts, grade=grade).json())


def texts_of(kind, place: str = "") -> Iterator[str]:
    """The places of the texts that a dataclass can hold, by its type hints."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        for inner in args:
            yield from texts_of(inner, place)
    elif origin is tuple:
        yield from texts_of(args[0], f"{place}[0]")
    elif origin is Mapping:
        yield from texts_of(args[1], f"{place}.key")
    elif kind is str:
        yield place
    elif is_dataclass(kind) and kind is not Aggregate:
        for name, inner in entries_of(kind)[0].items():
            yield from texts_of(inner, f"{place}.{name}" if place else name)


# The texts that are compared are keys, kinds, settings, digests and names of the data.
COMPARED_NAMES = {"key", "method", "methods", "metrics", "best", "recommended", "left_out"}
COMPARED_NAMES |= {"strategy", "view", "protocol", "fingerprint", "positive_name"}
COMPARED_NAMES |= {"names", "columns"}  # These are names of slices and periods.


def test_a_text_of_an_analysis_is_a_key_a_name_or_never_compared():
    compared = [
        place
        for place in texts_of(Contents)
        if place.startswith(("analysis.", "parts.")) and not UNCOUNTED_PLACES.match(place)
    ]
    unknown = {place.rpartition(".")[2].partition("[")[0] for place in compared} - COMPARED_NAMES
    # A new text for people belongs into WORDS. A new key belongs into COMPARED_NAMES.
    assert not unknown


@pytest.mark.parametrize("grade", ["guarded", "exact"])
def test_words_are_not_compared_and_count_as_not_verified(small, grade):
    words = re.compile(f"{WORDS}|contains$|analysis.warnings")
    data = json.loads(small[grade].json())
    reworded = 0
    for path in leaves(data):
        name = re.sub(r"\.(\d+)", r"[\1]", ".".join(map(str, path)))
        folder = reduce(lambda at, key: at[key], path[:-1], data)
        is_text = isinstance(folder[path[-1]], str) and path[-1] not in ("key", "better")
        if words.match(name) and is_text:
            folder[path[-1]] = "Other words."
            reworded += 1
    before, after = verify_report(small[grade].json()), verify_report(resealed(data))
    assert reworded > 40
    assert after.n_verified == before.n_verified
    assert after.n_not_verified >= reworded


@pytest.mark.parametrize(
    ("part", "entry", "value"),
    [
        ("verdict", "kind", "underconfident"),
        ("verdict", "answer", "no evidence"),
        ("recommendation", "method", "uncalibrated"),
        ("after", "answer", "not calibrated"),
    ],
)
def test_a_kind_that_contradicts_the_cells_is_found_under_a_new_seal(small, part, entry, value):
    data = json.loads(small["exact"].json())
    assert data["analysis"][part][entry] != value
    data["analysis"][part][entry] = value
    with pytest.raises(NotVerified, match=f"analysis.{part}.{entry} is '{value}'"):
        verify_report(resealed(data))


def test_sentences_that_the_program_rewords_are_no_evidence(monkeypatch):
    """What rows are missing, and whether bins were merged, is known from facts."""
    rng = np.random.default_rng(0)
    score = rng.random(100)
    groups = np.arange(100) // 2
    rows = Predictions.from_arrays(rng.random(100) < score, score, group=groups)
    analysis = calib.analyze(rows, calib.Settings(methods=("platt",)))
    texts = {grade: Report.from_analysis(analysis, grade=grade).json() for grade in GRADES}
    for name in ("evidence.CLUSTERS", "disclosure.MERGED"):
        monkeypatch.setattr(f"calib.reports.contents.{name}", "Other words.")
    for text in texts.values():
        data = json.loads(text)
        assert data["evidence"]["uncounted"] == "clusters"
        assert len(data["analysis"]["fitted_reliability"]["rows"]) < analysis.settings.n_bins
        verify_report(text)
        data["analysis"]["warnings"] = []
        del data["evidence"]["uncounted"]  # Reports of version 0.1 do not have it.
        verify_report(resealed(data))


def test_a_report_of_an_earlier_version_lacks_what_was_added_since(small):
    data = json.loads(small["exact"].json())
    platt = data["analysis"]["methods"]["platt"]
    del platt["differences"]["auc"]
    with pytest.raises(NotVerified, match=r"differences\.auc is nothing"):
        verify_report(resealed(data))
    data["versions"]["calib"] = "0.0.1"
    data["settings_changed"] = ["methods", "n_bins"]
    assert verify_report(resealed(data)).same_versions is False
    platt["metrics"]["auc"]["value"] += 1e-6
    with pytest.raises(NotVerified, match=r"calib `0\.0\.1` made the report, and this is calib"):
        verify_report(resealed(data))


def test_an_earlier_version_lacks_results_but_no_method():
    printed, again = {"platt": {"auc": 0.5}}, {"platt": {"auc": 0.5, "new": 1.0}, "beta": {}}
    for earlier, places in ((True, ["beta"]), (False, ["platt.new", "beta"])):
        different = differences(printed, again, "methods", earlier=earlier)
        assert [one.place for one in different] == [f"methods.{place}" for place in places]


def test_the_seal_is_that_of_the_file_and_not_of_what_a_later_schema_makes_of_it(
    small, monkeypatch
):
    def with_a_step(data):
        return upgraded(data) | {"title": "A later schema"}

    monkeypatch.setattr("calib.reports.report.upgraded", with_a_step)
    assert verify_report(small["guarded"].json()).report.title == "A later schema"
