"""The units of work of each pass: read a piece, call the stage, leave its files.

A unit gets the workspace, an item and drafts for its files, and returns a small value. What it does
depends on nothing else, so a unit can be done anywhere, twice, or again.
"""
