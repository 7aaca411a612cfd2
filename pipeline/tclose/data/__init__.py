"""Microdata in: how values become keys, and what counts of them say."""
