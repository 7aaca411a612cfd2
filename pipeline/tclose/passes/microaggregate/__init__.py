"""The classes of each region."""
