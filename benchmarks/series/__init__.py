"""What releases of the same persons cost when they are held together."""
