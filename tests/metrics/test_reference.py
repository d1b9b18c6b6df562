"""Agreement with other packages: every record of the reference file whose quantity we have.

`OURS` says what we compute for a peer's quantity. Every such record agrees, but for those that
`DIFFERS` names with the reason.
"""

import json
import re
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest

from calib import metrics
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.metrics.smooth import (
    absolute_integral,
    cosine_sums,
    smooth_reflected,
    spread_on_grid,
)
from calib.numerics.poisson_binomial import null_standard_deviation

ECE = metrics.expected_calibration_error
BINARY = ("tiny10", "ties200", "imbalanced2000", "smooth1000")


def ece(norm, strategy, n_bins, debiased=False):
    return partial(ECE, norm=norm, strategy=strategy, n_bins=n_bins, debiased=debiased)


def part(metric, name):
    return lambda cells: getattr(metric(cells), name)


def groups(n, name):
    return lambda cells: getattr(metrics.hosmer_lemeshow_test(cells, n_groups=n), name)


cox = partial(part, metrics.calibration_slope_intercept)
OURS = {
    **dict.fromkeys(("log_loss", "corp_log_score"), metrics.log_loss),
    **dict.fromkeys(
        ("brier", "pycaleva_brier", "val.prob_Brier", "corp_brier_score"), metrics.brier_score
    ),
    **dict.fromkeys(("auc", "pycaleva_auroc", "val.prob_C (ROC)"), metrics.auc),
    **{
        f"corp_{score}_{name}": part(decomposition, name)
        for score, decomposition in (
            ("brier", metrics.brier_decomposition),
            ("log", metrics.log_loss_decomposition),
        )
        for name in ("miscalibration", "discrimination", "uncertainty")
    },
    **{
        f"ece_{norm}_{debiased}{peers_name}{n}": ece(norm, strategy, n, bool(debiased))
        for norm, debiased in (("l1", ""), ("l2", ""), ("l2", "debiased_"))
        for peers_name, strategy in (
            ("uniform", "uniform"),
            ("quantile", "quantile"),
            ("equalmass", "quantile"),
            ("equalmass_tiesafe", "quantile"),
            ("equalmass_rankcut", "quantile"),
        )
        for n in (10, 15, 25)
    },
    "calzone_ECE-H": ece("l1", "uniform", 10),
    "pycaleva_ace": ece("l1", "quantile", 10),
    "mce_uniform10": ece("max", "uniform", 10),
    "mce_uniform15": ece("max", "uniform", 15),
    "calzone_MCE-H": ece("max", "uniform", 10),
    "pycaleva_mce": ece("max", "quantile", 10),
    "ece_sweep_l1": metrics.sweep_calibration_error,
    "ks": metrics.ks_error,
    "kuiper": metrics.kuiper_error,
    "ks_pvalue": part(metrics.ks_test, "p_value"),
    "kuiper_pvalue": part(metrics.kuiper_test, "p_value"),
    "ecce_sigma": null_standard_deviation,
    "mean_calibration_error": lambda cells: abs(metrics.signed_calibration_error(cells)),
    **{
        name: part(metrics.spiegelhalter_test, field)
        for field, names in {
            "statistic": ("spiegelhalter_z", "val.prob_S:z", "calzone_SpiegelhalterZ score"),
            "p_value": ("spiegelhalter_p", "val.prob_S:p", "calzone_SpiegelhalterZ p-value"),
        }.items()
        for name in names
    },
    "hosmer_lemeshow_chi2_g10": groups(10, "statistic"),
    "hosmer_lemeshow_chi2_g5": groups(5, "statistic"),
    "pycaleva_hosmer_lemeshow_chi2_g10": groups(10, "statistic"),
    "pycaleva_hosmer_lemeshow_p_g10": groups(10, "p_value"),
    "calibration_in_the_large": cox("intercept_only"),
    "calibration_intercept_joint": cox("intercept"),
    "calibration_slope": cox("slope"),
    "calibration_slope_wald95_lo": cox("slope_low"),
    "calibration_slope_wald95_hi": cox("slope_high"),
    "calzone_COX coef": cox("slope"),
    "calzone_COX coef lowerci": cox("slope_low"),
    "calzone_COX coef upperci": cox("slope_high"),
    "calzone_COX intercept": cox("intercept"),
    "calzone_COX intercept lowerci": cox("intercept_low"),
    "calzone_COX intercept upperci": cox("intercept_high"),
    "val.prob_Slope": cox("slope"),
    "val.prob_Intercept": cox("intercept"),
    "recalibration_LRT_chi2_2df": cox("statistic"),
    "val.prob_U:Chi-sq": cox("statistic"),
    "val.prob_U:p": cox("p_value"),
    "calibration_belt_T": cox("statistic"),
    "calibration_belt_p": cox("p_value"),
}

LEFT_CLOSED = "bins are [lo, hi): a score on an edge falls into the bin above it"
RANKS = "equal counts are cut by rank"
NUMPY = "numpy.quantile's default, by which a row of weight 2 is not two rows"
SPLIT = "tied rows are split between groups"
# A row has quantity, peer, data sets and the reason. The first two are regular expressions.
DIFFERS = [
    (r"(ece_l[12]|mce)_uniform\d+", "calib|netcal|relplot|torchmetrics", BINARY[:2], LEFT_CLOSED),
    (r"ece_l1_uniform\d+", "calikit", BINARY[:2], LEFT_CLOSED),
    (r"mce_uniform\d+", "calikit", BINARY[:2], LEFT_CLOSED),
    (
        r"ece_l1_uniform\d+",
        "classifier-calibration",
        BINARY[:2],
        "mean over both classes of bins [lo, hi)",
    ),
    (r"ece_l1_uniform\d+", "khalib", BINARY, "bins divide the range of the scores, not [0, 1]"),
    (r"ece_l2_debiased_uniform\d+", "calibstats", BINARY[2:3], "bins of one row count in full"),
    (r"ece_l2_debiased_quantile\d+", "calibstats", BINARY[:1], "bins of one row count in full"),
    (r"ece_l1_quantile15", "calibstats|netcal", BINARY[3:], LEFT_CLOSED),
    (r"ece_l2_debiased_quantile15", "calibstats", BINARY[3:], LEFT_CLOSED),
    (r"ece_l1_quantile15", "calibstats|netcal|kyle", BINARY[2:], NUMPY),
    (r"ece_l2_debiased_quantile15", "calibstats", BINARY[2:3], NUMPY),
    (r"ece_l[12]_(debiased_)?equalmass15", "uncertainty", BINARY[1:], RANKS),
    (r"ece_l1_equalmass_rankcut10", "calikit", BINARY[:2], SPLIT),
    (r"ece_l1_equalmass_rankcut15", "calikit", BINARY[1:], f"{SPLIT}; {RANKS}"),
    (r"pycaleva_(ace|mce)", "pycaleva", BINARY[1:2], SPLIT),
    (r"pycaleva_hosmer_lemeshow_(chi2|p)_g10", "pycaleva", BINARY[1:2], SPLIT),
    (r"hosmer_lemeshow_chi2_g10", "R 4", BINARY[1:2], "the lowest edge is the lowest score, not 0"),
    (r"ks|kuiper", "kartikgupta|probmetrics", BINARY[1:2], "the curve is read between tied rows"),
    (
        "pycaleva_hosmer_lemeshow_p_g10",
        "pycaleva",
        BINARY[2:],
        "groups that expect fewer than 5 of a class: simulated, not the chi-square's",
    ),
    (r"val.prob_C \(ROC\)", "R 4", BINARY[3:], "lrm sorts the scores into bins of 0.002"),
    (r"val.prob_Slope", "R 4", BINARY[:1], "lrm stops earlier"),
]
# These peers iterate, or compute in single precision.
ROUGH = r"R 4|calzone|statsmodels|calibration-belt|probmetrics"


@pytest.fixture(scope="module")
def records(shared):
    return json.loads((shared / "reference" / "reference.json").read_text())["metrics"]


@pytest.fixture(scope="module")
def cells_of(shared):
    @cache
    def read(name):
        table = pd.read_csv(shared / "reference" / "data" / f"{name}.csv")
        return ScoreCells.from_arrays(table["y"], table["p"])

    return read


def why_it_differs(record):
    for number, (quantity, peer, names, _) in enumerate(DIFFERS):
        same = re.fullmatch(quantity, record["quantity"]) and re.match(peer, record["peer"])
        if same and record["dataset"] in names:
            return number
    return None


def agrees(record, ours):
    rough = re.match(ROUGH, record["peer"])
    return ours == pytest.approx(float(record["value"]), rel=0.0, abs=1e-6 if rough else 1e-9)


def comparable(records):
    return [
        record
        for record in records
        if record["quantity"] in OURS and record["dataset"] in BINARY and "value" in record
    ]


def test_records_agree(records, cells_of):
    chosen = [record for record in comparable(records) if why_it_differs(record) is None]
    assert len(chosen) > 350
    wrong = []
    for record in chosen:
        ours = OURS[record["quantity"]](cells_of(record["dataset"]))
        if not agrees(record, ours):
            wrong.append((ours, record))
    assert not wrong


def test_every_exception_is_one(records, cells_of):
    used = set()
    for record in comparable(records):
        number = why_it_differs(record)
        if number is not None and not agrees(
            record, OURS[record["quantity"]](cells_of(record["dataset"]))
        ):
            used.add(number)
    assert [DIFFERS[number] for number in range(len(DIFFERS)) if number not in used] == []


def test_every_name_is_used(records):
    assert set(OURS) - {record["quantity"] for record in records} <= {
        name for name in OURS if re.match(r"ece_l", name)
    }


def test_smooth_ece_is_the_peers_within_their_steps(records, cells_of):
    # They try bandwidths in steps of 1/1024 and take the first whose error is no larger.
    result = 0
    for record in records:
        if record["quantity"] == "smece" and record["dataset"] in BINARY:
            ours = metrics.smooth_calibration_error(cells_of(record["dataset"]))
            assert ours == pytest.approx(record["value"], abs=1 / 1024), record
            result += 1
    assert result == 8


def test_smooth_ece_at_the_peers_bandwidth_is_theirs_away_from_the_ends(records, cells_of):
    # In ties200 no score is within a bandwidth of an end, where the peers count too little.
    cells = cells_of("ties200")
    bandwidth = np.ceil(metrics.smooth_calibration_error(cells) * 1024) / 1024
    residual = (cells.positive - cells.weight * cells.score) / cells.total_weight
    sums = cosine_sums(spread_on_grid(cells.score, residual, 4096))
    ours = absolute_integral(*smooth_reflected(sums, bandwidth, 4096))
    for record in records:
        if record["quantity"] == "smece" and record["dataset"] == "ties200":
            assert ours == pytest.approx(record["value"], rel=2e-4), record["peer"]


@pytest.fixture(scope="module")
def three_classes(shared):
    table = pd.read_csv(shared / "reference" / "data" / "mc3_600.csv")
    return Predictions.from_arrays(table["y"], table[["p0", "p1", "p2"]])


def in_view(view, metric):
    return lambda predictions: metric(predictions.view(view).cells())


def class_mean(metric):
    return lambda predictions: np.mean(
        [metric(predictions.view(f"class:{k}").cells()) for k in range(3)]
    )


VIEWS = {
    "ks_toplabel": in_view("top:1", metrics.ks_error),
    "ks_2nd_label": in_view("top:2", metrics.ks_error),
    "ks_within_top2": in_view("within:2", metrics.ks_error),
    **{f"ece_toplabel_l1_uniform{n}": in_view("top:1", ece("l1", "uniform", n)) for n in (10, 15)},
    **{f"ece_toplabel_l2_uniform{n}": in_view("top:1", ece("l2", "uniform", n)) for n in (10, 15)},
    **{f"mce_toplabel_uniform{n}": in_view("top:1", ece("max", "uniform", n)) for n in (10, 15)},
    **{
        f"ece_toplabel_l2_debiased_uniform{n}": in_view("top:1", ece("l2", "uniform", n, True))
        for n in (10, 15)
    },
    "ece_toplabel_l2_debiased_equalmass10": in_view("top:1", ece("l2", "quantile", 10, True)),
    **{f"ece_classwise_l1_uniform{n}": class_mean(ece("l1", "uniform", n)) for n in (10, 15)},
}


@pytest.mark.parametrize("quantity", VIEWS)
def test_views_of_three_classes_agree(records, three_classes, quantity):
    theirs = [record for record in records if record["quantity"] == quantity]
    assert theirs
    for record in theirs:
        # The peer torchmetrics computes several classes in single precision.
        tolerance = 1e-6 if record["peer"].startswith("torchmetrics") else 1e-9
        assert VIEWS[quantity](three_classes) == pytest.approx(record["value"], abs=tolerance), (
            record
        )
