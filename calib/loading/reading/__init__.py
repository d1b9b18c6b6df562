"""From bytes, a path, pasted text or a DataFrame to a Table."""
