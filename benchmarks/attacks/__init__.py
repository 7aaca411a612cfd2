"""Attacks that learn from releases beyond the limits of k and t."""
