"""numpy and numba: arrays in, arrays out. No I/O, no pandas, no logging, never ``fastmath``."""

from pipeline.kernels import cache

cache.use_cache_of_these_sources()
