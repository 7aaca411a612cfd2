"""Every class as released, exactly; the verdict."""
