"""Expected costs of a run: seconds, bytes on disk, memory; and what they are on this machine."""
