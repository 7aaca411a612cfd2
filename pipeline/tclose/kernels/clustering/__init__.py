"""How clusters are first made."""
