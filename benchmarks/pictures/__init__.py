"""The pictures of the pages in docs/, drawn of releases of generated data."""
