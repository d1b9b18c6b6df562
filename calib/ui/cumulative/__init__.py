"""Parts of the Cumulative page."""
