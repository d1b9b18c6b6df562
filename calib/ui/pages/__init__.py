"""One module or folder per page."""
