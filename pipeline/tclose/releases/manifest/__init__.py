"""The manifest, and the documents made of it."""
