"""Trust and secrecy: files that others could write, secrets in URLs."""
