"""Bucketization (Domingo-Ferrer and Soria-Comas, section 6)."""
