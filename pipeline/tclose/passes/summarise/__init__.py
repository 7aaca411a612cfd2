"""Counts of every partition, which merge."""
