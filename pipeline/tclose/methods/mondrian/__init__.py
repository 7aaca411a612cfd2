"""Mondrian: the table is halved along its quasi-identifiers while what is asked holds."""
