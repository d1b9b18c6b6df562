"""Proof: the counts that a report carries, what follows from them, and its seal."""
