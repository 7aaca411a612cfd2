"""A static site of the releases that stand in a folder: public figures only."""
