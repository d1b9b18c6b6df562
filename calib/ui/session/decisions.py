"""Results of decisions, each computed once."""

from __future__ import annotations

from calib.analysis import LiveAnalysis
from calib.analysis.decisions import (
    CostCurves,
    Costs,
    DecisionTable,
    ExpectedCounts,
    NetBenefit,
    cost_curves,
    decide,
    expected_counts,
    net_benefit,
)
from calib.ui.session import choices
from calib.ui.session.choices import Chosen
from calib.ui.session.session import Session


def costs(chosen: Chosen) -> Costs:
    """What was chosen on the Decisions page."""
    return Costs(chosen[choices.COST_FP], chosen[choices.COST_FN], chosen[choices.CAPACITY])


def decisions(session: Session, analysis: LiveAnalysis) -> DecisionTable:
    chosen, at = costs(session.chosen), session.settings.confidence_level
    return session.memo.heavy(decide, analysis.held_out, chosen, confidence_level=at)


def curves(session: Session, analysis: LiveAnalysis) -> tuple[CostCurves, NetBenefit]:
    held_out, chosen = analysis.held_out, costs(session.chosen)
    return session.memo(cost_curves, held_out, chosen), session.memo(net_benefit, held_out)


def counts(session: Session, analysis: LiveAnalysis, low: float, high: float) -> ExpectedCounts:
    at = session.settings.confidence_level
    return session.memo(expected_counts, analysis.held_out, low, high, confidence_level=at)
