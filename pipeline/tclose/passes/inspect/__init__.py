"""Inspection of the input's files: their digests and columns, by which a release is named."""
