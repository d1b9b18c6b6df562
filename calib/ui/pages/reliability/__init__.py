"""Parts of the Reliability page."""
