"""Privacy models besides k and t for classes to meet, and measures of attacks on classes."""
