"""Where tasks run: this process, or a Dask cluster."""
