"""What several releases of the same persons give away together: the common refinement, attacked."""
