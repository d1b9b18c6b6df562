"""Cross-fitting: evaluate each method on rows on which it was not fitted."""
