"""Releases of a series: who is linked to earlier ones, in what cells, and whether these hold."""
