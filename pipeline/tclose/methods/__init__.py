"""Methods that partition records into classes: one module for each, which registers itself."""
