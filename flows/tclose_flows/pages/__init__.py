"""What Prefect's pages show of a run: its name, its lines, how far it is, and how it ended."""
