"""Attacks on several releases of the same persons: the common refinement gives them away."""
