"""Reads microdata, keeps working files, writes releases and their lineage."""
