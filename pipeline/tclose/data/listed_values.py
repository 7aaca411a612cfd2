"""Values that a policy lists as texts, read as the column's type."""

from collections.abc import Sequence

import pyarrow as pa

from tclose.data.keys import plain_type


def read_listed(texts: Sequence[str], dtype: pa.DataType) -> pa.Array:
    """Listed texts as values of a column's type, in their order.

    Times may leave seconds out. Arrow reads none from text, so each is read as one of the first
    day of its epoch.

    Raises
    ------
    pyarrow.ArrowException
        A text is no value of the type, or the type has none that are written as text (durations).
    """
    plain = plain_type(dtype)
    if not pa.types.is_time(plain):
        return pa.array(texts, pa.string()).cast(plain)
    moments = pa.array([f"1970-01-01T{text}" for text in texts], pa.string())
    return moments.cast(pa.timestamp(plain.unit)).cast(plain)
