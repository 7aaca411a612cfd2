"""Sections of the internal manifest on the records beside the release."""
