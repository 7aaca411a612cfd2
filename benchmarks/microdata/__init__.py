"""The tables that are measured: generated from fixed seeds, or real ones beside the tree."""
