"""A first policy for a table: what its columns look like, and which roles that suggests."""
