"""Notices before the work begins: time, memory, earlier releases."""
