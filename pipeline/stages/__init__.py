"""Tables in, tables or values out: no files, no engine."""
