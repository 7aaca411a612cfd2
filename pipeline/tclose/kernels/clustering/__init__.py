"""Kernels that partition records into clusters and blocks."""
