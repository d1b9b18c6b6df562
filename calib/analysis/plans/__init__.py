"""What to do about scores that changed: a few plans, compared by their held-out log loss."""

from calib.analysis.plans.choosing import (
    PLAN_METHODS,
    PlanChoice,
    choose_plan,
    why_no_plan,
    with_advice,
    with_plan,
)

__all__ = [
    "PLAN_METHODS",
    "PlanChoice",
    "choose_plan",
    "why_no_plan",
    "with_advice",
    "with_plan",
]
