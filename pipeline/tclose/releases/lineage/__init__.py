"""OpenLineage events of a run."""
