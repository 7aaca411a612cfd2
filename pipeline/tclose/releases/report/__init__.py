"""The report of a release: one page without a script, of what its manifest says."""
