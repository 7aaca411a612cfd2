"""Clusters that are above t or fail a further model are merged with near ones."""
