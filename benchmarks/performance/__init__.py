"""Time, memory and bytes of releases, beside a reference that reads, sorts and writes."""
