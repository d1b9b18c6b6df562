"""From a Table and a Columns to problems, each with a code and perhaps a repair."""
