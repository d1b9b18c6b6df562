"""scikit-learn's isotonic regression, its certain ends shrunk by the stated rule."""

import numpy as np
from sklearn.isotonic import IsotonicRegression


def shrunken(scores, y, new):
    """Predictions for new scores: 0 becomes 1 / (n + 1 / b), at most the next rate; 1 likewise."""
    peer = IsotonicRegression(out_of_bounds="clip").fit(scores, y)
    x, value = peer.X_thresholds_, peer.y_thresholds_.copy()
    fitted, base_rate = peer.predict(scores), np.mean(y)
    rates = np.unique(fitted)
    if rates[0] == 0.0:
        rule = 1.0 / ((fitted == 0.0).sum() + 1.0 / base_rate)
        value[value == 0.0] = min(rule, rates[1])
    if rates[-1] == 1.0:
        rule = 1.0 - 1.0 / ((fitted == 1.0).sum() + 1.0 / (1.0 - base_rate))
        value[value == 1.0] = max(rule, rates[-2])
    return np.interp(new, x, value)
