"""What may be trusted, and what is hidden: files that others could write, secrets in URLs."""
