"""Where bytes are: folders, buckets, and what can be trusted there."""
