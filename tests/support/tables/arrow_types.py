"""Types that columns may have, and columns of them."""

from decimal import Decimal

import numpy as np
import pyarrow as pa

INTEGERS = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
]
FLOATS = [pa.float32(), pa.float64()]
DECIMALS = [
    *(pa.decimal32(9, 2), pa.decimal64(18, 4)),
    *(pa.decimal128(5, 0), pa.decimal128(18, 3), pa.decimal256(18, 18)),
]
TIMES = [
    *(pa.date32(), pa.date64()),
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")),
    *(pa.timestamp("us", "Europe/Berlin"), pa.timestamp("ns", "UTC"), pa.timestamp("ms", "+02:00")),
    *(pa.duration("s"), pa.duration("ms"), pa.duration("us"), pa.duration("ns")),
]
NUMBERS = [*INTEGERS, *FLOATS, *DECIMALS, *TIMES]
TEXTS = [pa.string(), pa.large_string(), pa.string_view()]
DICTIONARIES = [
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
    pa.dictionary(pa.int16(), pa.int64()),
]


def numbers_of(dtype: pa.DataType, keys: np.ndarray) -> pa.Array:
    """An array of the type from small whole numbers."""
    if pa.types.is_date64(dtype):
        return pa.array(keys * 86_400_000).cast(dtype)
    if pa.types.is_decimal(dtype):
        values = [Decimal(int(key)).scaleb(-dtype.scale) for key in keys]
        return pa.array(values, dtype)
    if pa.types.is_floating(dtype):
        return pa.array(keys / 4).cast(dtype)
    if dtype.bit_width == 32:
        return pa.array(keys.astype(np.int32)).cast(dtype)
    return pa.array(keys).cast(dtype)
