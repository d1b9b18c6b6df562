"""From a Table to a Columns."""
