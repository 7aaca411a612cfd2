"""Artifacts: the values and files that passes hand over, checked by digest."""
