"""What to do about scores that changed: a few plans, compared by their held-out log loss."""

from calib.analysis.plans.choosing import MAX_PLAN_ROWS, Plan, PlanChoice, choose_plan

__all__ = ["MAX_PLAN_ROWS", "Plan", "PlanChoice", "choose_plan"]
