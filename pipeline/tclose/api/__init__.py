"""The public functions and their results, whose names ``import tclose`` gives."""
