"""Execution of passes: tasks, checkpoints, progress."""
