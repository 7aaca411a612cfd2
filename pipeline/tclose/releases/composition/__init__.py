"""Composition: what other releases of the same folder tell together with a new one."""
