"""A release or a policy looked at from outside: audit, originals, linkage, frontier."""
