"""The release beside the input: the same records, by digests of their own."""
