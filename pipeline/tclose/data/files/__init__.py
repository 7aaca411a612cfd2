"""The input's files: where they are, how they are cut, and how records are read."""
