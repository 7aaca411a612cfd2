"""What analysts do with releases, method by method, beside the same with the originals."""
