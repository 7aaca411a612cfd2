"""Prefect's part: thin tasks, and flows that read like a recipe."""
