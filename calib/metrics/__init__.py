"""Metrics: functions of ScoreCells, each with a scikit-learn-style facade (y_true, y_prob)."""
