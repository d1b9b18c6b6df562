"""Cross-fitting: every method on rows that it was not fitted on, and how the methods differ."""
