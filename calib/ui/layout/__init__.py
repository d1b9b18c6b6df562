"""What every page is made of: frame, navigation, charts, tables, words."""
