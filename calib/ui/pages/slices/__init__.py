"""Parts of the Slices page."""
