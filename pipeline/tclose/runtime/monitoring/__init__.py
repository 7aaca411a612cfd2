"""News of a run while it works and after it: progress, metrics, lineage events."""
