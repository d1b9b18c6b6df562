"""How to read the tables and charts that compare calibrators."""

from __future__ import annotations

from calib.curves.reliability import FEW_ROWS

TABLE = (
    "Below each value: its {} confidence interval, and for calibration errors what a calibrated "
    "model of this size shows on average. ★ Best in column. Methods are ranked by log loss, "
    "because ECE depends on the binning."
)
BEFORE_AFTER = (
    "Mean predicted probability (x) against observed frequency (y). The grey area is the "
    f"consistency band: {{}}. Hollow dots have fewer than {FEW_ROWS} rows."
)
MATRIX_CHANGE = """
- **All classes together**, whatever the view: multiclass log loss uses the score of the true class,
  and the multiclass Brier score sums over the classes.
- **Accuracy** changes only if a method reorders the classes of a row. Temperature scaling, clipping
  and the KS spline never do.
"""
CLIPPING = """
- **Clipping** only limits how extreme scores can be: none is below p_min, and each row is divided
  by its sum.
- The best bound is chosen on these same rows, so its loss is optimistic.
  [Lucena 2018](https://arxiv.org/abs/1809.07751), Figure 2.
"""
DIFFERENCE = """
- **Left of zero** is better than the uncalibrated scores.
- If the interval **includes zero**, the difference is inconclusive. Clipped intervals are given in
  full in the table.
- Differences are paired by row, so their intervals are narrower than those of the losses.
"""
