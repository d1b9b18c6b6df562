"""Parts of the Decisions page."""
