"""Exchanges and moves of records within k and t; classes above t are merged."""
