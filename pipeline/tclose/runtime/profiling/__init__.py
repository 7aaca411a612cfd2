"""Profiles of a run: the time of stages, passes and tasks."""
