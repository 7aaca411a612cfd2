"""Persons in the releases of a window and in a table: registers, links, numbers."""
