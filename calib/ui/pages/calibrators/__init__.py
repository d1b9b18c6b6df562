"""Parts of the Calibrators page."""
