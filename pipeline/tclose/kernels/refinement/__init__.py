"""Exchanges and moves of records within k and t."""
