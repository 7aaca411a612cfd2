"""Invented microdata of any size: reproducible, written in parts, in bounded memory.

Hospital discharges are described here, insured persons over months in `panel`.

A seed defines an endless table of discharges. It is drawn in chunks of 65,536 rows, each from a
random stream of its own, so row i of a seed is the same however many rows are asked for and however
they are cut into files (under one minor version of numpy, which may change its streams).
"""

from tclose.data.synthetic.discharges import CHUNK_ROWS, MAX_ROWS, SCHEMA, generate_rows
from tclose.data.synthetic.probabilities import (
    FIRST_DAY,
    INSURANCES,
    N_DAYS,
    SEVERITIES,
    SEXES,
    STATUSES,
)
from tclose.data.synthetic.writing import ROW_GROUP_ROWS, write_microdata

__all__ = [
    "CHUNK_ROWS",
    "FIRST_DAY",
    "INSURANCES",
    "MAX_ROWS",
    "N_DAYS",
    "ROW_GROUP_ROWS",
    "SCHEMA",
    "SEVERITIES",
    "SEXES",
    "STATUSES",
    "generate_rows",
    "write_microdata",
]
