"""Decisions that are based on scores, and their cost before and after calibration."""

from calib.analysis.decisions.certificate import Certificate, CertifiedSide, ErrorLimit, certify
from calib.analysis.decisions.counted import (
    ExpectedCounts,
    expected_by_band,
    expected_counts,
)
from calib.analysis.decisions.curves import CostCurves, NetBenefit, cost_curves, net_benefit
from calib.analysis.decisions.decide import (
    Costs,
    Decision,
    DecisionTable,
    decide,
    decide_before_and_after,
)

__all__ = [
    "Certificate",
    "CertifiedSide",
    "CostCurves",
    "Costs",
    "Decision",
    "DecisionTable",
    "ErrorLimit",
    "ExpectedCounts",
    "NetBenefit",
    "certify",
    "cost_curves",
    "decide",
    "decide_before_and_after",
    "expected_by_band",
    "expected_counts",
    "net_benefit",
]
