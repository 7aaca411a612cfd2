"""Unions of classes that persons left: which there have to be, and which of them lose least."""
