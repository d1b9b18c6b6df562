"""Contents: what a report holds, from an Analysis to JSON and back."""
