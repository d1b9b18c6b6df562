"""Arrays in, arrays out: the mathematics that everything above shares. Knows nothing of the rest."""
