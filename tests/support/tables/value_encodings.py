"""Encodings of a few values, as a plan would have them."""

from typing import Any

import numpy as np
import pyarrow as pa

from tclose.data.columns import resolve_column
from tclose.data.encodings import make_encoding
from tclose.data.keys import Encoding, Keys
from tclose.data.value_counts import summarise_table
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role

SPAN = 64
PRIORITY = np.array([1, 0, 2])  # of ties the second value wins


def encode(
    values: pa.Array, role: Role = Role.QUASI_IDENTIFIER, name: str = "x", **given: Any
) -> tuple[Encoding, Keys]:
    """Encoding and keys of a column; ``given``: what the policy says of it."""
    column = resolve_column(Attribute(name, role, **given), values.type)
    summary, _ = summarise_table(pa.table({name: values}), (column,), ())
    made = make_encoding(column, summary.columns[name])
    return made, made.encode(values)


def encodings_of(table: pa.Table, **given: dict[str, Any]) -> list[Encoding]:
    """Encodings of a table's columns, all quasi-identifiers; ``given``: of columns by name."""
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    return [encode(c, name=name, **given.get(name, {}))[0] for name, c in columns.items()]


def encoding(kind: Kind, dtype: pa.DataType, name: str = "x", **changes: Any) -> Encoding:
    """Of a quasi-identifier that runs from 0 to a power of two, so that scaled keys are exact."""
    settings = {key: changes.pop(key) for key in ("aggregate", "rounded") if key in changes}
    column = Column(Attribute(name, Role.QUASI_IDENTIFIER, **settings), kind, dtype)
    return Encoding(column, **({"low": 0, "high": SPAN} | changes))


NOMINAL = encoding(
    Kind.NOMINAL, pa.string(), high=2, categories=pa.array(list("abc")), priority=PRIORITY
)
REPRESENTED = encoding(
    Kind.NOMINAL, pa.string(), high=2, categories=pa.array(list("abc")), priority=PRIORITY,
    aggregate="representative",
)  # fmt: skip
ORDINAL = encoding(
    Kind.ORDINAL, pa.string(), high=4, categories=pa.array(list("uvxyz")), ranks=np.arange(5)
)
