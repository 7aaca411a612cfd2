"""Encodings of a few values, as a plan would have them."""

from typing import Any

import pyarrow as pa

from pipeline.model import Attribute, Role
from pipeline.stages.columns import resolve_column
from pipeline.stages.encodings import make_encoding
from pipeline.stages.keys import Encoding, Keys
from pipeline.stages.summarise import summarise_table


def encode(
    values: pa.Array, role: Role = Role.QUASI_IDENTIFIER, name: str = "x", **given: Any
) -> tuple[Encoding, Keys]:
    """Encoding and keys of a column; ``given``: what the policy says of it."""
    column = resolve_column(Attribute(name, role, **given), values.type)
    summary, _ = summarise_table(pa.table({name: values}), (column,), ())
    encoding = make_encoding(column, summary.columns[name])
    return encoding, encoding.encode(values)
