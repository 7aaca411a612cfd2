"""What is published: repository, catalog, provenance."""
