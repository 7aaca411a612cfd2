"""Intervals, sets and taxonomy nodes as released texts."""
