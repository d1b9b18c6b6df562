"""Calibrators and metrics of another installed package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rare import rare

ROOT = Path(__file__).parents[1]
MODULE = '''
from calib.calibrators.base import Calibrator
from calib.calibrators.registry import register
from calib.metrics.base import metric


@register("halfway", "Halfway", simplicity=25, summary="Assumes too little.", source="")
class Halfway(Calibrator):
    def _fit(self, cells):
        self.base_rate_ = cells.base_rate

    def _map(self, scores):
        return 0.5 * (scores + self.base_rate_)

    def formula(self):
        return f"(s + {self.base_rate_:.3g}) / 2"


@metric(
    "Share above 0.5",
    meaning="Share of the rows with a score above 0.5.",
    bounds=(0.0, 1.0),
    better="none",
    convention="",
    source="An example",
)
def share_above_half(cells):
    """Weighted share of the rows with a score above 0.5."""
    return float(cells.weight[cells.score > 0.5].sum() / cells.total_weight)
'''
EXITS = """
import sys
sys.exit(3)
"""
OTHER_METRIC = """
from calib.metrics.base import metric

@metric("Other", meaning="x", bounds=(0.0, 1.0), better="none", convention="", source="x")
def {name}(cells):
    \"\"\"Another number.\"\"\"
    return 0.5
"""
POINTS = """[calib.calibrators]
halfway = halfway_of_others
broken = halfway_that_is_not_there
exits = halfway_that_exits

[calib.metrics]
share_above_half = halfway_of_others
binned = halfway_binned
log_loss = halfway_log_loss
auc_low = halfway_auc_low
"""
USE = """
import warnings
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    import calib
    fitted = calib.calibrator("halfway").fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    dir(calib.metrics)
print(fitted.predict([0.1]).tolist())
print(*(each.message for each in found if "halfway" in str(each.message)), sep=" | ")
print("share_above_half" in dir(calib.metrics), "log_loss" in dir(calib.metrics))
print(calib.metrics.share_above_half([0, 1, 1], [0.2, 0.7, 0.9]))
y, p = [0, 1] * 50, [0.2, 0.8, 0.6, 0.4] * 25
settings = calib.Settings(methods=("halfway",), metrics=("share_above_half",))
analysis = calib.analyze(calib.Predictions.from_arrays(y, p), settings)
print(analysis.table()["share_above_half"].round(3).to_dict())
print("Halfway" in calib.report(analysis).html())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages, as an installation leaves it."""
    site = tmp_path_factory.mktemp("site")
    (site / "halfway_of_others.py").write_text(MODULE)
    (site / "halfway_that_exits.py").write_text(EXITS)
    for name in ("binned", "log_loss", "auc_low"):
        (site / f"halfway_{name}.py").write_text(OTHER_METRIC.format(name=name))
    facts = site / "halfway-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: halfway\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(POINTS)
    return site


@rare
def test_an_installed_package_adds_a_calibrator_and_a_metric(installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", USE],
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(installed)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    predicted, warned, listed, value, table, in_report = done.stdout.splitlines()
    assert predicted == "[0.3]"
    could_not = "The package halfway could not add its"
    for sentence in (
        f"{could_not} calibrator 'broken': No module",
        f"{could_not} calibrator 'exits': it calls sys.exit(3)",
        f"{could_not} metric 'log_loss': metric 'log_loss' is registered twice",
        f"{could_not} metric 'auc_low': The metric 'auc_low' needs another name",
        "The package halfway adds a metric that calib.metrics.binned does not give",
    ):
        assert sentence in warned
    assert listed == "True True"
    assert float(value) == pytest.approx(2 / 3)
    assert table == "{'uncalibrated': 0.5, 'halfway': 0.5}"
    assert in_report == "True"
