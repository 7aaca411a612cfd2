"""An audit: a release checked from its files alone."""
