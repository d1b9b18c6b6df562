"""Controls that several pages draw."""
