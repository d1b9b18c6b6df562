"""Reports that are verified: whole, forged, and forged and sealed again."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from functools import cache, reduce
from itertools import product
from pathlib import Path
from types import UnionType
from typing import Union, get_args, get_origin

import numpy as np
import pytest

import calib
from calib.analysis.decisions import Costs, ErrorLimit
from calib.data.aggregate import Aggregate
from calib.data.predictions import Predictions
from calib.data.strict_json import entries_of
from calib.metrics import expected_calibration_error, ks_error
from calib.reports import Report, ReportError, parts_of
from calib.reports.contents.codec import encode, upgraded
from calib.reports.contents.evidence import GRADES
from calib.reports.contents.sealing import seal_of
from calib.reports.contents.structure import Contents
from calib.reports.verify import UNCOUNTED_PLACES, WORDS, NotVerified, verify_report
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
    """Of each grade, quick to recompute, with all parts."""
    rng = np.random.default_rng(1)
    score = rng.random(400)
    columns = {
        "site": rng.choice(["north", "south"], 400),
        "day": np.datetime64("2024-01-01") + rng.integers(0, 90, 400),
    }
    rows = Predictions.from_arrays(rng.random(400) < score**1.5, score, columns=columns)
    rows = replace(rows, time_name="day")
    analysis = calib.analyze(rows, calib.Settings(methods=("platt",)))
    parts = parts_of(
        rows, analysis, costs=Costs(false_negative=2), error_limit=ErrorLimit(0.3, 0.9)
    )
    return {grade: Report.from_analysis(analysis, parts=parts, grade=grade) for grade in GRADES}


@pytest.mark.parametrize(
    ("kind", "grade"),
    common_first(
        product(KINDS, ("exact", "guarded")),
        [("folds", "exact"), ("matrix", "exact"), ("plain", "guarded")],
    ),
)
def test_a_report_is_verified(kind: str, grade: str):
    report = report_of(kind, grade)
    verified = verify_report(report.json())
    needs_rows = {"clusters": "which rows belong together", "matrix": "all classes of a row"}
    if kind in needs_rows:
        assert needs_rows[kind] in verified.not_verified[0]
    if grade == "exact" and kind not in needs_rows:
        assert verified.is_recomputed
        assert verified.sentence.startswith("pass: ")
        assert verified.n_compared > 2000
    else:
        assert not verified.is_recomputed
        assert verified.sentence.startswith("consistent: ")
        assert verified.n_compared > 20


@pytest.mark.parametrize(
    "kind", common_first(["plain", "weights", "test rows", "folds", "counts"], ["weights"])
)
def test_every_cell_of_a_guarded_report_holds_ten_rows(kind: str):
    evidence = report_of(kind, "guarded").evidence
    for table in (evidence.cells.table, evidence.methods.table):
        key = np.column_stack([table.stratum, table.key])
        _, cell = np.unique(key, axis=0, return_inverse=True)
        assert np.bincount(cell.reshape(-1), table.rows).min() >= 10
        # Both outcomes of a cell have the same numbers, except for their counts.
        for name in ("low", "high"):
            values = getattr(table, name)
            assert len(np.unique(np.column_stack([cell.reshape(-1), values]), axis=0)) == (
                cell.max() + 1
            )
    assert evidence.columns == ()


def test_a_time_that_fewer_than_ten_rows_have_is_in_no_report(texts):
    rng = np.random.default_rng(2)
    score, days = rng.random(300), np.full(300, np.datetime64("NaT"), dtype="datetime64[D]")
    days[:6] = np.datetime64("2024-01-01")
    rows = Predictions.from_arrays(rng.random(300) < score, score, columns={"day": days})
    rows = replace(rows, time_name="day")
    analysis = calib.analyze(rows, calib.Settings(methods=()))
    report = Report.from_analysis(analysis, parts=parts_of(rows, analysis))
    assert report.parts.periods is None
    texts.shown(report.parts.notes[0])
    verify_report(report.json())


def test_a_guarded_report_has_at_most_8192_cells_per_method():
    rng = np.random.default_rng(0)
    score = rng.random(150_000)
    rows = Predictions.from_arrays(rng.random(150_000) < score, score)
    report = Report.from_analysis(calib.analyze(rows, calib.Settings(methods=("platt",))))
    for key in report.analysis.methods:
        assert 4000 < len(np.unique(report.evidence.table(key)[1].key)) <= 8192


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
    assert done.stderr.startswith(b"calib: not verified: Words, names")
    assert b"equal to the last bit to " in done.stdout
    assert done.stdout.endswith(b"; sealed, not signed\n")


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


def with_rows_moved(report: Report, name: str, at: int) -> dict:
    """The same report with one row more in a cell."""
    counted = getattr(report.evidence, name)
    rows = counted.table.rows.copy()
    rows[at] += 1
    table = replace(
        counted.table, rows=rows, weight=rows.astype(float), weight_sq=rows.astype(float)
    )
    evidence = replace(report.evidence, **{name: replace(counted, table=table)})
    return json.loads(replace(report, evidence=evidence, seal=None).json())


def without_method(data: dict) -> None:
    for place in [place for place in leaves(data) if "platt" in place and place[0] != "evidence"]:
        folder = reduce(lambda at, name: at[name], place[: place.index("platt")], data)
        folder.pop("platt", None) if isinstance(folder, dict) else None
    data["analysis"]["recommendation"]["method"] = "uncalibrated"


def without_slice(data: dict) -> None:
    """One of two slices is removed from all tables."""
    for tables in (data["parts"]["slices"][0][name] for name in ("gaps", "tests")):
        for table in tables.values():
            lists = [name for name in table if isinstance(table[name], list) and name != "columns"]
            for name in lists:
                table[name] = table[name][:1]


def changed(place: str, value: object) -> Callable[[dict], None]:
    """Another value in one place; a number or a list of numbers is multiplied."""

    def change(data: dict) -> None:
        *folders, last = (int(name) if name.isdigit() else name for name in place.split("."))
        folder = reduce(lambda at, name: at[name], folders, data)
        before = folder[last]
        folder[last] = before * value if isinstance(value, float) else value
        assert folder[last] != before

    return change


PLATT, SLICE_0 = "analysis.methods.platt", "parts.slices.0"
# Each changes an exact report, which is then sealed again. The second entry is the place that the
# message names.
FORGERIES: dict[str, tuple[str, Callable[[dict], object]]] = {
    "metric": ("log_loss.value", changed(f"{PLATT}.metrics.log_loss.value", 0.99)),
    "last bits": ("auc.high", changed(f"{PLATT}.metrics.auc.high", 1.0 + 1e-15)),
    "bin": ("reliability.observed", changed(f"{PLATT}.reliability.observed.2", 0.9)),
    "band": ("reliability.band_high", changed(f"{PLATT}.reliability.band_high.3", 0.9)),
    "curve": ("cumulative.recalibrated", changed(f"{PLATT}.cumulative.recalibrated.5", 0.9)),
    "p-value": ("ks.p_value", changed(f"{PLATT}.ks.p_value", 0.5)),
    "function": ("function.calibrated", changed(f"{PLATT}.function.calibrated.4", 0.9)),
    "kind": ("analysis.verdict.kind", changed("analysis.verdict.kind", "underconfident")),
    "answer": ("analysis.verdict.answer", changed("analysis.verdict.answer", "no evidence")),
    "after": ("analysis.after.answer", changed("analysis.after.answer", "not calibrated")),
    "advice": (
        "analysis.recommendation.method",
        changed("analysis.recommendation.method", "uncalibrated"),
    ),
    "setting": ("settings_changed", changed("analysis.settings.seed", 7)),
    "number of rows": ("analysis.data.n_positive", changed("analysis.data.n_positive", 99)),
    "fingerprint": ("analysis.data.fingerprint", changed("analysis.data.fingerprint", "0" * 64)),
    "metric removed": (
        "differences.auc",
        lambda data: data["analysis"]["methods"]["platt"]["differences"].pop("auc"),
    ),
    "metric added": (
        "metrics.trust",
        lambda data: data["analysis"]["methods"]["platt"]["metrics"].update(trust={"value": 1.0}),
    ),
    "method removed": ("analysis.methods is", without_method),
    "method under the name of another": (
        "analysis.methods.uncalibrated.metrics",
        lambda data: data["analysis"]["methods"]["uncalibrated"].update(
            metrics=data["analysis"]["methods"]["platt"]["metrics"]
        ),
    ),
    "slice": ("gaps.platt.observed", changed(f"{SLICE_0}.gaps.platt.observed.0", 0.9)),
    "test of a slice": ("tests.platt.slope", changed(f"{SLICE_0}.tests.platt.slope.0", 0.9)),
    "one slice removed": ("slices[0].gaps.uncalibrated.names", without_slice),
    "slices removed": ("evidence.methods.columns", changed("parts.slices", [])),
    "slices added": (
        "evidence.methods.columns",
        lambda data: data["parts"]["slices"].append(data["parts"]["slices"][0]),
    ),
    "period": ("periods.tables.platt.ks", changed("parts.periods.tables.platt.ks.0", 0.9)),
    "periods removed": ("evidence.methods.columns", changed("parts.periods", None)),
    "decision": (
        "platt.cost.value",
        changed("parts.decisions.table.methods.platt.cost.value", 0.9),
    ),
    "plan": (
        "table.methods.uncalibrated.threshold",
        changed("parts.decisions.table.costs.false_negative", 3.0),
    ),
    "certificate": ("above.n_errors", changed("parts.certificate.above.n_errors", 0)),
    "list of settings": ("settings_changed", changed("settings_changed", ["n_bins"])),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_exact_report_under_a_new_seal_is_found(small, name: str):
    place, forge = FORGERIES[name]
    data = json.loads(small["exact"].json())
    forge(data)
    with pytest.raises(NotVerified) as caught:
        verify_report(resealed(data))
    assert place in str(caught.value)
    assert "seal" not in str(caught.value)


@pytest.mark.parametrize(("counts", "at"), [("cells", 5), ("methods", 5), ("methods", -3)])
def test_changed_counts_under_a_new_seal_are_found(small, counts: str, at: int, texts):
    with texts.raises(NotVerified):
        verify_report(resealed(with_rows_moved(small["exact"], counts, at)))


def test_counts_by_slice_of_named_folds_have_all_rows():
    """Folds of slices are not counted, so their held-out scores are compared with those of all."""
    report = report_of("folds", "exact")
    places = report.evidence.methods.columns
    at = next(
        i
        for i, stratum in enumerate(report.evidence.methods.table.stratum)
        if report.evidence.methods.parts[report.evidence.methods.strata.part[stratum]].column
        == places[0]
    )
    with pytest.raises(NotVerified):
        verify_report(resealed(with_rows_moved(report, "methods", at)))


def test_counts_that_no_rows_have_are_refused(small, texts):
    data = json.loads(small["exact"].json())
    strata = data["evidence"]["cells"]["strata"]
    strata["test"] = [1] * len(strata["test"])  # No row is left for a fit.
    with texts.raises(NotVerified):
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


def test_what_was_removed_under_a_new_seal_is_named(small, texts):
    data = json.loads(small["exact"].json())
    data["parts"] |= {"slices": [], "periods": None, "time": ""}
    with texts.raises(NotVerified):
        verify_report(resealed(data))


def test_a_method_that_was_removed_from_a_guarded_report_is_named(small, texts):
    data = json.loads(small["guarded"].json())
    without_method(data)
    with texts.raises(NotVerified):
        verify_report(resealed(data))


def test_the_first_number_that_differs_is_named_with_both_values(small):
    data = json.loads(small["exact"].json())
    data["analysis"]["methods"]["platt"]["metrics"]["auc"]["high"] += 1e-15
    sentence = r"methods\.platt\.metrics\.auc\.high is 0\.\d+; the cells give 0\.\d+"
    with pytest.raises(NotVerified, match=sentence):
        verify_report(resealed(data))


@pytest.mark.parametrize(
    "place",
    [
        "analysis.data.n_rows",
        "analysis.data.n_positive",
        "analysis.data.base_rate",
        "analysis.data.mean_score",
        "analysis.data.n_calibration",
        f"{PLATT}.reliability.rows.0",
        f"{PLATT}.reliability.positive.0",
        f"{PLATT}.histogram.0",
        f"{PLATT}.differences.log_loss.value",
        f"{SLICE_0}.gaps.platt.rows.0",
        f"{SLICE_0}.gaps.platt.positives.0",
        "parts.periods.tables.platt.rows.0",
        "parts.decisions.table.methods.platt.true_positives",
    ],
)
def test_a_sum_of_a_guarded_report_that_is_wrong_is_found_under_a_new_seal(
    small, place: str, texts
):
    data = json.loads(small["guarded"].json())
    *folders, last = (int(name) if name.isdigit() else name for name in place.split("."))
    folder = reduce(lambda at, name: at[name], folders, data)
    folder[last] += 1
    with texts.raises(NotVerified):
        verify_report(resealed(data))


def test_what_no_sum_holds_in_a_guarded_report_is_protected_by_its_seal_alone(small, texts):
    data = json.loads(small["guarded"].json())
    data["analysis"]["methods"]["platt"]["metrics"]["auc"]["value"] = 0.99
    with texts.raises(NotVerified):
        verify_report(json.dumps(data))
    verified = verify_report(resealed(data))
    texts.shown(verified.not_verified[-1])


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


# The means over folds of the fourth analysis have ties that are rounded apart.
@pytest.mark.parametrize("seed", common_first(range(25), [3]))
def test_random_analyses_verify(seed: int):
    rows, settings, costs = random_predictions(np.random.default_rng(seed))
    analysis = calib.analyze(rows, settings)
    parts = parts_of(rows, analysis, costs=costs)
    for grade in GRADES:
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
COMPARED_NAMES |= {"strategy", "view", "protocol", "fingerprint", "positive_name", "test"}
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
def test_words_are_not_compared(small, grade):
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
    assert after.n_compared == before.n_compared


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


def test_a_report_of_an_earlier_version_lacks_what_was_added_since(small, texts):
    data = json.loads(small["exact"].json())
    platt = data["analysis"]["methods"]["platt"]
    del platt["differences"]["auc"]
    with pytest.raises(NotVerified, match=r"differences\.auc\.value is nothing"):
        verify_report(resealed(data))
    data["versions"]["calib"] = "0.0.1"
    data["settings_changed"] = ["methods", "n_bins"]
    assert verify_report(resealed(data)).same_versions is False
    platt["metrics"]["auc"]["value"] += 1e-6
    with texts.raises(NotVerified):
        verify_report(resealed(data))


@pytest.mark.parametrize(
    ("forge", "place"),
    [(without_method, "analysis.methods is"), (without_slice, "names (length) is 1")],
)
def test_an_earlier_version_lacks_results_but_no_method_and_no_slice(small, forge, place):
    data = json.loads(small["exact"].json())
    data["versions"]["calib"] = "0.0.1"
    forge(data)
    with pytest.raises(NotVerified) as caught:
        verify_report(resealed(data))
    assert place in str(caught.value)


def test_the_seal_is_that_of_the_file_and_not_of_what_a_later_schema_makes_of_it(
    small, monkeypatch, texts
):
    def with_a_step(data):
        return upgraded(data) | {"title": "A later schema"}

    monkeypatch.setattr("calib.reports.report.upgraded", with_a_step)
    texts(verify_report(small["guarded"].json()).report.title)
