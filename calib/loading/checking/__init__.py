"""From a Table and a ColumnMapping to problems, each with a code and perhaps a repair."""
