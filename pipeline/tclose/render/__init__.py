"""Output for people: tables and pictures."""
