"""Parts of the Classes page."""
