"""Runs the passes; the only code that knows Dask."""
