"""Each record's subset, leaf and keys; every partition sorted once."""
