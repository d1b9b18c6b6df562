"""How to read the cumulative charts."""

CUMULATIVE = """
- Rows are sorted by score. The curve adds up **observed minus predicted** over them, without bins
  and without smoothing.
- Where the curve **falls**, predictions are too high; where it **rises**, too low; flat means
  calibrated.
- The **arrow** is the KS error: the largest distance of the curve from zero. If the first method
  shown were calibrated, its curve would stay in the grey band with the chosen confidence.
- The **Kuiper error** is the distance from the lowest to the highest point (hollow markers). It is
  the largest gap over any interval of scores.
"""
PANELS = (
    "(a) Cumulative score and cumulative outcome against the share of rows. (b) The same against "
    "the cumulative score, so that the score is a straight line. (c) Score and observed rate "
    "against the share of rows. (d) Observed rate against the score. The rate is the slope of a "
    "spline through the cumulative outcomes. [Gupta et al. 2021](https://arxiv.org/abs/2006.12800)"
    ", Figure 1."
)
