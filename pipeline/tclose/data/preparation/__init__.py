"""Preparation of values as they are read: bounds, rounding, bands, a category of missing ones."""
