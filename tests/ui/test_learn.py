"""The Learn page's words come from the registries, whole, and can be found."""

import math
import re

import numpy as np
import pytest

import calib
from calib.analysis import analyze
from calib.blocks.methods import DIRECTIONS, column_help
from calib.calibrators import score_methods
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.metrics import METRICS
from calib.ui.layout.glossary import (
    FAMILIES,
    OTHER_FAMILY,
    TERMS,
    Entry,
    _range,
    calibrator_entries,
    kept,
    metric_entries,
)
from calib.ui.layout.words import linked


def listed(groups):
    return [entry for group in groups.values() for entry in group]


def test_every_registered_metric_and_calibrator_is_there_once():
    assert sorted(entry.code for entry in listed(metric_entries())) == sorted(METRICS)
    codes = [entry.code for entry in listed(calibrator_entries())]
    assert set(score_methods()) <= set(codes)
    assert len(codes) == len(set(codes))


def test_every_entry_has_an_address_of_its_own():
    groups = metric_entries() | calibrator_entries() | {"Terms": TERMS}
    html = "".join(entry.html(is_open=False) for group in groups.values() for entry in group)
    ids = re.findall(r'<details id="([^"]*)"', html)
    assert len(set(ids)) == len(ids) == sum(map(len, groups.values()))
    assert {"ece", "venn-abers", "brier-skill-score", "o-e-ratio"} <= set(ids)


@pytest.mark.parametrize("key", METRICS)
def test_a_metric_is_told_with_meaning_range_direction_convention_and_source(key):
    metric = METRICS[key]
    (entry,) = [entry for entry in listed(metric_entries()) if entry.code == key]
    assert entry.text == metric.meaning
    assert metric.convention.removesuffix(".") in entry.facts
    assert entry.source == metric.source
    assert DIRECTIONS[metric.better] in entry.facts
    assert len(entry.facts.split(", ")[0]) >= len("0 to 1")
    assert not entry.facts.endswith(".")


def test_families_are_in_order_and_each_has_its_file():
    titles = [title for title in metric_entries() if title != OTHER_FAMILY]
    assert titles == list(dict.fromkeys(FAMILIES.values()))
    # A renamed file would lose its family, and a new file's metrics come last.
    modules = {metric.compute.__module__.rsplit(".", 1)[-1] for metric in METRICS.values()}
    assert FAMILIES.keys() <= modules


def test_calibrators_stand_simplest_first():
    first, *_ = calibrator_entries().values()
    order = [score_methods()[entry.code].simplicity for entry in first]
    assert order == sorted(order)


def test_every_word_of_a_query_must_be_held():
    found = listed(kept(metric_entries(), "NIXON threshold"))
    assert [entry.code for entry in found] == ["thresholded_calibration_error"]
    assert kept(metric_entries(), "no such words") == {}
    assert kept(metric_entries(), "") == metric_entries()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("Platt scaling", "platt"),
        ("sigmoid calibration", "platt"),
        ("temperature scaling", "temperature"),
        ("isotonic regression", "isotonic"),
        ("PAVA", "isotonic"),
        ("histogram binning", "histogram"),
        ("label shift", "prior_shift"),
        ("cross-entropy", "log_loss"),
        ("c-statistic", "auc"),
        ("ECE-sweep", "sweep_calibration_error"),
        ("smECE", "smooth_calibration_error"),
        ("classwise ECE", "ece_classwise"),
        ("maximum calibration error", "expected_calibration_error"),
        ("calibration-in-the-large", "signed_calibration_error"),
        ("calibration in the large", "calibration_slope_intercept"),
        ("calibration intercept", "calibration_slope_intercept"),
        ("Brier skill score", "brier_decomposition"),
        ("O/E ratio", "observed_expected_ratio"),
        ("observed to expected", "observed_expected_ratio"),
        ("Gini", "auc"),
        ("sharpness", "brier_decomposition"),
        ("Logistic on log odds", "logistic"),
        ("consistency band", "band"),
        ("out-of-fold", "n_folds"),
        ("held-out", "n_folds"),
        ("decision curve", "net_benefit"),
        ("calibration plot", "reliability_curve"),
        ("prevalence", "base_rate"),
    ],
)
def test_the_search_finds_the_names_of_the_field(query, code):
    entries = metric_entries() | calibrator_entries() | {"Terms": TERMS}
    assert code in [entry.code for entry in listed(kept(entries, query))]


def test_references_become_links_and_everything_else_stays_text():
    html = linked("<img src=x>, doi:10.1093/biomet/45.3-4.562; arXiv:1706.04599.")
    assert re.findall('href="([^"]+)"', html) == [
        "https://doi.org/10.1093/biomet/45.3-4.562",
        "https://arxiv.org/abs/1706.04599",
    ]
    assert "<img" not in html
    hostile = Entry("<img src=x>", "<b>", "<i>", "<img src=x>", "<img src=x>", "<u>")
    assert not re.search("<(img|i|u|b)[ >](?!&lt;img)", hostile.html(is_open=True))


@pytest.mark.parametrize(
    ("y", "p"),
    [([0, 1, 0, 1, 1], [0.1, 0.3, 0.6, 0.8, 0.9]), ([1, 0, 0, 0], [0.2, 0.5, 0.9, 0.9])],
)
def test_the_equalities_in_the_glossary_hold(y, p):
    y, p = np.array(y, float), np.array(p)
    parts = calib.metrics.brier_decomposition(y, p)
    skill = 1.0 - np.mean((y - p) ** 2) / np.mean((y - y.mean()) ** 2)
    by_parts = (parts.discrimination - parts.miscalibration) / parts.uncertainty
    assert skill == pytest.approx(by_parts)
    signed = calib.metrics.signed_calibration_error(y, p)
    assert y.sum() / p.sum() == pytest.approx(1.0 + signed / p.mean())


def test_tooltips_of_the_metric_table_are_the_same_words(texts):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    analysis = analyze(Predictions.from_arrays(rng.random(300) < p, p), Settings(methods=()))
    by_key = {column.key: column_help(column) for column in analysis.columns}
    for key in ("log_loss", "brier_score", "ks_error", "auc"):
        assert METRICS[key].meaning in by_key[key]
        assert METRICS[key].convention in by_key[key]
    texts.shown(by_key["auc"])
    assert "1 is calibrated." in by_key["slope"]


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((-1.0, 1.0), "−1 to 1"),
        ((1.0, math.inf), "1 or more"),
        ((-math.inf, math.inf), "any number"),
    ],
)
def test_bounds_are_words(bounds, words):
    assert _range(*bounds) == words
