"""Values as the buckets that are released for them, told by the buckets' labels alone.

"[low, high]" has the values from low to high, the first one without a low end, the last one without
a high one; "{a, b}" those that it lists, any other label the one value that it spells.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.keys import widen_decimals
from tclose.errors import VerificationError
from tclose.methods.generalisation.notation import parse_interval, parse_set, read_values
from tclose.model.column_terms import Kind


def label_values(
    values: pa.Array, labels: Sequence[str], kind: Kind, order: Sequence[str] = ()
) -> pa.Array:
    """The label of each value, which has none that is missing.

    Parameters
    ----------
    labels : of all buckets, of values with an order the lowest first
    order : of ordinal values, lowest first

    Raises
    ------
    VerificationError
        Values that no label has, or several.
    """
    listed, is_ordinal = widen_decimals(values).dictionary_encode(), kind is Kind.ORDINAL
    of_value = np.full(len(listed.dictionary), -1, dtype=np.int64)
    for index, label in enumerate(labels):
        if kind is Kind.NOMINAL:
            inside = _is_listed(listed.dictionary, label)
        else:
            low, high = parse_interval(label)
            ends = None if index == 0 else low, None if index == len(labels) - 1 else high
            inside = _is_between(listed.dictionary, ends, order if is_ordinal else None)
        if (of_value[inside] >= 0).any():
            raise VerificationError("a value has two buckets; nothing was published")
        of_value[inside] = index
    if (of_value < 0).any():
        raise VerificationError("a value has no bucket; nothing was published")
    return pa.array(labels, pa.string()).take(pa.array(of_value).take(listed.indices))


def _is_listed(values: pa.Array, label: str) -> np.ndarray:
    names = read_values(list(parse_set(label)), values.type)
    return cast(np.ndarray, pc.is_in(values, value_set=names).to_numpy(zero_copy_only=False))


def _is_between(
    values: pa.Array, ends: tuple[str | None, str | None], order: Sequence[str] | None
) -> np.ndarray:
    """Return which values are between two ends, either of which may be missing."""
    if order is not None:
        rank_of = {text: rank for rank, text in enumerate(order)}
        values = pa.array([rank_of[str(value)] for value in values.to_pylist()], pa.int64())
    inside = np.ones(len(values), dtype=bool)
    for end, compare in zip(ends, (pc.greater_equal, pc.less_equal), strict=True):
        if end is not None:
            named = read_values([end], values.type)[0] if order is None else rank_of[end]
            inside &= compare(values, named).to_numpy(zero_copy_only=False)
    return inside
