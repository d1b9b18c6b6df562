"""Parts of the page of the data: its columns and its test rows."""
