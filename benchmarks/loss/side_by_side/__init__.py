"""All searches of the default method beside each other and beside other methods, by size."""
