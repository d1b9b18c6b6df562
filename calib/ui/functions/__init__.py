"""Parts of the Functions page."""
