"""Data: the values that everything else reads."""
