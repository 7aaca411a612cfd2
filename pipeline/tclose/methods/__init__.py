"""How classes are made: one module for each method, which registers itself."""
