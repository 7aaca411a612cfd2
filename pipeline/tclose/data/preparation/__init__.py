"""Preparation of values as they are read: bounds, rounding, bands, what stands for missing ones."""
