"""Pages of Prefect on a run: its name, its lines, how far it is, and how it ended."""
