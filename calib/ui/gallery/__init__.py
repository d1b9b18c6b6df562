"""Parts of the Gallery page."""
