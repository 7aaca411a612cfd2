"""Profiles of a run: the time of passes and tasks."""
