"""Files, manifest, and one atomic switch."""
