"""From a Table and a Columns to Predictions."""
