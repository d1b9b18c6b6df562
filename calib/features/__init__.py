"""Features that register themselves: each declares its page, command, charts and choices."""
