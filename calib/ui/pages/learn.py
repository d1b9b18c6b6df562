"""Learn: what every number means, which convention it follows, and its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

import streamlit as st

from calib.ui.controls import widgets
from calib.ui.layout import frame
from calib.ui.layout.glossary import TERMS, Entry, calibrator_entries, kept, metric_entries

ONE_VS_REST = (
    "With more than two classes every calibrator also works one-vs-rest: class by class, and then "
    "divided by the row's sum."
)

FIRST = (
    "New to calibration? Open log loss, the calibration errors ECE and KS, and then the "
    "calibrators logistic, isotonic, beta and spline."
)
INTERVALS = """
- **Observed frequency of a bin**: Wilson's interval. Weighted or clustered rows count by their
  effective number.
- **Consistency band**: where the dot of a calibrated model would fall, per bin or all dots at once
  (simultaneous). It is exact (Poisson-binomial) up to 1,000 rows per bin and for rare outcomes,
  normal beyond.
- **Log loss, Brier score and their changes**: Student's interval of the mean over rows, corrected
  for skewness. Changes are paired by row. With cross-fitting the interval also covers how much the
  calibrators of the folds differ.
- **AUC**: Newcombe's score interval with DeLong's variance. Its change is paired by row. With
  cross-fitting the change is the mean of the changes within folds, and the AUC is that of the
  uncalibrated scores plus the change.
- **Slope**: profile likelihood, scaled by the sandwich variance. For AUC and slope, coverage stays
  nominal even with two or three positives.
- **ECE, MCE, KS calibration error**: chance can only increase them. The lower bound subtracts what
  chance alone gives, and is above 0 only if calibrated scores would rarely have such an error. The
  upper bound comes from resamples.
- **Variational error**: normal, with 1 + 2/π times the variance of independent rows, because the
  folds share the signs of their calibrators.
- **CORP line**: resamples, with Wilson's interval where a block has fewer than five rows of one
  outcome. **Smooth line**: normal on the log-odds scale, widened for the bias of smoothing.
- **Verdict**: five tests: KS, Kuiper, Spiegelhalter, Hosmer-Lemeshow, and slope and intercept. For
  a matrix the KS test of every class is added. Holm's correction keeps the chance of even one false
  rejection at 5%. If tests and recommendation disagree, the verdict is inconclusive and gives the
  reason. After calibration the same tests are applied to the held-out scores of the recommended
  calibrator.
- **Cumulative curve**: the grey band is the null distribution of the KS test (Brownian motion).
  Below 100 distinct scores it comes from 4,999 simulations.
- If the data have a **cluster column**, resamples, standard errors, intervals, bands and tests use
  whole clusters.
- If the data have a **fold column**, methods are cross-fitted in its folds, and the number of folds
  in the settings has no effect.
- All random numbers are seeded: the same data and settings give the same numbers.
"""

# A link such as /methods#ece opens that entry, which a browser cannot do before it is drawn.
OPEN_LINKED = """{
    const linked = document.getElementById(location.hash.slice(1));
    if (linked?.matches(".glossary details")) { linked.open = true; linked.scrollIntoView(); }
}"""


def page() -> None:
    session = frame.begin("Learn")
    metrics, calibrators = metric_entries(), calibrator_entries()
    n_metrics, n_calibrators = (sum(map(len, g.values())) for g in (metrics, calibrators))
    st.markdown(f"## What {n_metrics} metrics and {n_calibrators} calibrators mean\n\n{FIRST}")
    widgets.field(
        session,
        "methods_filter",
        "Find",
        st.text_input,
        placeholder="ECE, isotonic, arXiv, Guo …",
        label_visibility="collapsed",
    )
    query = session.methods_filter
    metrics = kept(metrics, query)
    calibrators = kept(calibrators | {"Terms": TERMS}, query)
    left, right = st.columns(2, gap="large")
    with left, st.container(key="glossary_metrics"):
        glossary(metrics, is_open=bool(query))
    with right, st.container(key="glossary_calibrators"):
        glossary(calibrators, is_open=bool(query))
        if not query:
            st.caption(ONE_VS_REST)
            with st.expander("How intervals are computed"):
                st.markdown(INTERVALS)
    if not metrics and not calibrators:
        st.info("No matches.")


def glossary(groups: Mapping[str, Iterable[Entry]], *, is_open: bool) -> None:
    parts = [
        f"<h3>{escape(title)}</h3>" + "".join(entry.html(is_open=is_open) for entry in entries)
        for title, entries in groups.items()
    ]
    # One element arrives whole, and nothing in it moves.
    html = f'<div class="glossary">{"".join(parts)}</div><script>{OPEN_LINKED}</script>'
    st.html(html, unsafe_allow_javascript=True)
