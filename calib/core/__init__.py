"""Core: the values that everything else reads."""
