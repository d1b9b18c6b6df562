"""Arrays in, arrays out: the mathematics that all above shares. Knows nothing of the rest."""
