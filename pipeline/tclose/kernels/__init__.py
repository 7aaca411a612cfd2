"""numpy and numba: arrays in, arrays out. No I/O, no pandas, no logging, never ``fastmath``."""
