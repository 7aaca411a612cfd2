"""Storage of bytes: folders, buckets, and the checks of files that others could write."""
