"""Benchmarks: timings against a reference, and their tables."""
