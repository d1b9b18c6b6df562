"""What people read about a result: each fact becomes one heading and one sentence here.

Results of `calib.analysis` ask it for the sentences that they offer, and everything that shows a
result asks it too. Nothing reads a sentence: what is decided is decided by facts.
"""
