"""How often `tclose init` is right, on tables of which it is known what they hold."""
