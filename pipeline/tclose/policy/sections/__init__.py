"""The sections of a policy: keys, what they may be, and which go together."""
