"""Categories that classes release, so that all values keep their shares."""
