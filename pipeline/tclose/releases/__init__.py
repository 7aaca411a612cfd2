"""Published releases: their repository, catalog and provenance."""
