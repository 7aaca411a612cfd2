"""Signatures and seals of manifests, and the files of their keys."""
