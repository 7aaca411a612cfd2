"""Analyses that a release is made for, tried on the records and on what is released for them."""
