"""Engines that run tasks: this process, or a Dask cluster."""
