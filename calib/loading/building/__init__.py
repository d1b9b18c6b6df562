"""From a Table and a ColumnMapping to Predictions."""
