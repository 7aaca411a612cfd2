"""The catalog of an output folder: its releases, their differences, the removal of old ones."""
