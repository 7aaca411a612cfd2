"""Folders and buckets: one lease, conditional commits."""
