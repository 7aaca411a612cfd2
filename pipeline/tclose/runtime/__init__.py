"""How passes are run: tasks, checkpoints, progress."""
