"""Persons with several records: hashed by a key, numbered, and what values they have."""
