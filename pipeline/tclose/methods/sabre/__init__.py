"""SABRE (Cao et al. 2011)."""
