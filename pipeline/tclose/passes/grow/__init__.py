"""Coarse trees, which order the records of a release partition by place."""
