"""Confidential values that last: which attributes have them, and codes for them over releases."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tclose.assess.any_table import code_values_apart
from tclose.data.keys import is_text, plain_type
from tclose.errors import UsageError, suggest
from tclose.model.array_types import Int64

LASTS = 0.95  # share of persons with the same value in two releases, from which it is intersected


@dataclass(frozen=True, eq=False)
class LastingValues:
    """Codes of the attributes that are intersected, together and each.

    ``rows``, ``records``: for each release the code of each row's, and of each original record's
    combination of values, below ``n_values``; ``attributes``: for each attribute the code of its
    own value in every combination, int64 (n_values,).
    """

    rows: tuple[Int64, ...]
    records: tuple[Int64, ...]
    n_values: int
    attributes: dict[str, Int64]


def common_attributes(published: Sequence[pa.Table], records: Sequence[pa.Table]) -> list[str]:
    """The confidential columns that all releases have, with the values of their originals."""
    return [
        name
        for name in published[0].column_names
        if all(name in table.column_names for table in (*published, *records))
        and len({_name_type(table.schema.field(name).type) for table in (*published, *records)})
        == 1
    ]


def _name_type(dtype: pa.DataType) -> str:
    """The name of a type; texts are the same, however Arrow stores them."""
    return "text" if is_text(dtype) else str(plain_type(dtype))


def measure_persistence(
    names: Sequence[str], records: Sequence[pa.Table], persons: Sequence[Int64]
) -> dict[str, float]:
    """Share of the persons of two releases in a row who have the same value in both.

    0 where nobody is in two of them.
    """
    shares = {}
    for name in names:
        codes = _code([table[name] for table in records], name)
        n_both = n_same = 0
        for (first, one), (second, other) in pairwise(zip(persons, codes, strict=True)):
            _, at, place = np.intersect1d(first, second, assume_unique=True, return_indices=True)
            n_both += at.size
            n_same += int(np.sum(one[at] == other[place]))
        shares[name] = n_same / n_both if n_both else 0.0
    return shares


def choose_persistent(shares: dict[str, float], names: Sequence[str] | None) -> tuple[str, ...]:
    """The attributes that are intersected: those that were asked for, or those that last.

    Raises
    ------
    UsageError
        One that not all releases have as it was.
    """
    if names is None:
        return tuple(name for name, share in shares.items() if share >= LASTS)
    unknown = [name for name in names if name not in shares]
    if unknown:
        raise UsageError(
            f"--persistent {unknown[0]}: is no confidential column that all releases have with its "
            f"original values; there are: {', '.join(shares) or 'none'}"
            f"{suggest(unknown[0], shares)}"
        )
    return tuple(names)


def code_lasting(
    names: Sequence[str], published: Sequence[pa.Table], records: Sequence[pa.Table]
) -> LastingValues:
    """Code the combinations of these attributes' values."""
    tables = [*published, *records]
    sizes = [len(table) for table in tables]
    combined = np.zeros(sum(sizes), dtype=np.int64)
    of_each = {name: np.concatenate(_code([t[name] for t in tables], name)) for name in names}
    for codes in of_each.values():
        keys = combined * (int(codes.max(initial=0)) + 1) + codes
        combined = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    n_values = int(combined.max(initial=0)) + 1
    attributes = {}
    for name, codes in of_each.items():
        attributes[name] = np.zeros(n_values, dtype=np.int64)
        attributes[name][combined] = codes
    pieces = np.split(combined, np.cumsum(sizes)[:-1])
    n = len(published)
    return LastingValues(tuple(pieces[:n]), tuple(pieces[n:]), n_values, attributes)


def _code(columns: Sequence[pa.ChunkedArray], name: str) -> list[Int64]:
    """The same code for the same value in all columns."""
    plain = plain_type(columns[0].type)
    joined = pa.chunked_array([c.cast(plain).combine_chunks() for c in columns])
    codes = code_values_apart(joined, name)
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1])
