"""Expectations of a release before it is made, from releases of a sample that nobody sees."""
