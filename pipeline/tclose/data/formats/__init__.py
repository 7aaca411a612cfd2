"""Formats of released files (registered): how rows are written, and read back."""
