"""Parts of the Reports page."""
