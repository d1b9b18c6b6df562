"""Comparison: what changed between two reports, as numbers and as a document."""
