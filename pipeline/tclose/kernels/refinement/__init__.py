"""Exchanges, moves and re-assignment of records within k and t."""
