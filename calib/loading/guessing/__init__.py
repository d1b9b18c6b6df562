"""From a Table to a ColumnMapping."""
