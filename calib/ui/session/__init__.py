"""What a person loaded and chose, the address of it, and every result that is kept."""
