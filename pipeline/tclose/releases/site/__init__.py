"""A static site of the releases in a folder: public figures only."""
