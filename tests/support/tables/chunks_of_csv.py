"""Chunks of a CSV file of two columns."""

import pyarrow as pa

from tclose.data.files.csv_chunks import parse_chunk

HEADER = ("a", "b")
TEXTS = {name: pa.string() for name in HEADER}


def parse(
    text: str, types: dict[str, pa.DataType] | None = None, missing: tuple[str, ...] = ()
) -> pa.Table:
    """The columns of a chunk, as texts unless types are given."""
    return parse_chunk(text.encode(), "x.csv", HEADER, types or TEXTS, missing, ",")
