"""Information loss of releases, beside the published algorithms and other methods."""
