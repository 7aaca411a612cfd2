"""Columns of every kind, as a policy and the types of the data resolve them."""

from fractions import Fraction
from typing import Any

import pyarrow as pa

from tclose.data.columns import resolve_column
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role

QUASI, CONFIDENTIAL, PASSTHROUGH = Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL, Role.NON_CONFIDENTIAL


def column(name: str, role: Role, dtype: pa.DataType, **keys: Any) -> Column:
    """One column; ``keys``: what the policy says of it beside its role."""
    limit = Fraction(1, 2) if role is CONFIDENTIAL else None
    return resolve_column(Attribute(name, role, max_emd=limit, **keys), dtype)


# A taxonomy: each value with what is above it.
ROWS = (("pear", "fruit", "any"), ("leek", "any"), ("apple", "fruit", "any"), ("kiwi", "any"))
COLUMNS = (
    column("age", QUASI, pa.int64()),
    column("sex", QUASI, pa.string()),
    column("size", QUASI, pa.float64()),
    column("grade", CONFIDENTIAL, pa.string(), kind=Kind.ORDINAL, order=("low", "mid", "high")),
    column("area", PASSTHROUGH, pa.string()),
    column("note", PASSTHROUGH, pa.string()),
)
