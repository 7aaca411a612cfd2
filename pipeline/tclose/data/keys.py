"""Columns as keys that kernels can use, and keys as columns again.

Integers, dates, times and decimals become int64 keys (exact), floats float64 keys; the categories
of nominal, boolean and ordinal columns become positions in the list of their categories.
"""

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, TypeVar, cast
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose.data.column_scales import RANGE_SCALE, ColumnScale, TableLoss
from tclose.errors import ChangedInputError, DataError
from tclose.model.array_types import Float64, Int64
from tclose.model.attributes import ANCESTOR, Column
from tclose.model.column_terms import Kind, Role

Keys = NDArray[np.int64] | Float64
Values = TypeVar("Values", pa.Array, pa.ChunkedArray)

MAX_DECIMAL_DIGITS = 18
_MAX_SPAN = 2**62
_MAX_FLOAT_SPAN = 1e300  # sums of differences stay finite


def plain_type(dtype: pa.DataType) -> pa.DataType:
    """The type a column is released as: dictionaries give their values, views plain strings."""
    if pa.types.is_dictionary(dtype):
        return plain_type(dtype.value_type)
    if pa.types.is_string_view(dtype):
        return pa.string()
    return dtype


def name_type(dtype: pa.DataType) -> str:
    """The name of a type for messages, without the names of fields in it, which are the data's."""
    if pa.types.is_dictionary(dtype):
        return f"dictionary of {name_type(dtype.value_type)}"
    return str(dtype).partition("<")[0] if pa.types.is_nested(dtype) else str(dtype)


def is_text(dtype: pa.DataType) -> bool:
    """Return whether the type is a text type."""
    plain = plain_type(dtype)
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain))


def is_temporal(dtype: pa.DataType) -> bool:
    """Return whether the type is a date, a time, a timestamp or a duration."""
    return pa.types.is_temporal(dtype) and not pa.types.is_interval(dtype)


def is_number(dtype: pa.DataType) -> bool:
    """Return whether the type is an integer, a decimal, or a float that Arrow supports."""
    is_float = pa.types.is_floating(dtype) and not pa.types.is_float16(dtype)
    return is_float or pa.types.is_integer(dtype) or pa.types.is_decimal(dtype)


def natural_kind(dtype: pa.DataType) -> Kind | None:
    """The kind that a type suggests; None where no kind fits."""
    plain = plain_type(dtype)
    if pa.types.is_null(plain) or is_text(plain):
        return Kind.NOMINAL
    if pa.types.is_boolean(plain):
        return Kind.BOOLEAN
    if is_number(plain):
        return Kind.NUMERIC
    return Kind.DATE if is_temporal(plain) else None


FOLDER_TYPES = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
    *(pa.bool_(), pa.date32(), pa.string(), pa.large_string()),
)


def folder_type(text: str) -> pa.DataType:
    """The type of a partition column by its name; only these read back as they were written.

    Raises
    ------
    KeyError
        Any other type.
    """
    return {str(dtype): dtype for dtype in FOLDER_TYPES}[text]


def folder_name(name: str, value: Any) -> str:
    """Folder of a partition value, as Hive names it."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{quote(name, safe=' ')}={quote(text, safe=' ')}"


def has_float_keys(dtype: pa.DataType) -> bool:
    """Return whether keys of the type are float64 rather than int64."""
    return bool(pa.types.is_floating(plain_type(dtype)))


def to_keys(array: pa.Array, name: str) -> Keys:
    """Keys of a numeric, date or boolean array without nulls, in its order.

    Raises
    ------
    DataError
        Unsigned integers beyond int64.
    """
    dtype = array.type
    if pa.types.is_floating(dtype):
        floats = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return cast(Keys, floats + 0.0)  # -0.0 and 0.0 are one value
    if pa.types.is_decimal(dtype):
        return _decimal_keys(array)
    if pa.types.is_date32(dtype) or pa.types.is_time32(dtype):
        array = array.cast(pa.int32())
    try:
        return cast(Keys, array.cast(pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        raise DataError(
            f"column {name!r}: holds integers beyond the signed 64-bit range; store it as a float, "
            "or declare it nominal"
        ) from None


def _decimal_keys(array: pa.Array) -> Int64:
    """The unscaled integers of a decimal array, which has at most 18 digits."""
    wide = array.cast(pa.decimal128(MAX_DECIMAL_DIGITS, array.type.scale))
    words = np.frombuffer(wide.buffers()[1], dtype="<i8").reshape(-1, 2)
    return words[wide.offset : wide.offset + len(wide), 0].astype(np.int64)


def widen_decimals(values: Values) -> Values:
    """Decimals of few bits as those of 128, which Arrow can list and rank; others as they are."""
    dtype = values.type
    if pa.types.is_decimal32(dtype) or pa.types.is_decimal64(dtype):
        return cast(Values, values.cast(pa.decimal128(dtype.precision, dtype.scale)))
    return values


def one_zero(array: pa.Array) -> pa.Array:
    """The array with 0.0 for every -0.0, which is the same value."""
    return pc.add(array, pa.scalar(0, array.type)) if has_float_keys(array.type) else array


def to_values(array: pa.Array) -> list[Any]:
    """Values as Python has them, which are equal where they are the same, and have their order.

    Moments of a time zone have its offset in place of it: two of the hour that a clock shows twice
    would be equal to each other, and to none that are written otherwise.
    """
    values: list[Any] = array.to_pylist()
    plain = plain_type(array.type)
    if not (pa.types.is_timestamp(plain) and plain.tz):
        return values
    return [_fix_offset(value) if type(value) is datetime else value for value in values]


def unknown_zone(name: str) -> DataError:
    """The error of a column whose times are of a zone that nobody here can tell the days of."""
    return DataError(
        f"column {name!r}: its time zone is not known here; store it in UTC, or with the name of a "
        "zone of the IANA database (as Europe/Berlin)"
    )


def _fix_offset(moment: datetime) -> datetime:
    offset = moment.utcoffset()
    assert offset is not None
    return moment.replace(tzinfo=timezone(offset), fold=0)


def from_keys(keys: Keys, dtype: pa.DataType) -> pa.Array:
    """The array of ``dtype`` that has these keys: the inverse of `to_keys`."""
    if pa.types.is_floating(dtype):
        return pa.array(keys.astype(np.float64)).cast(dtype, safe=False)
    if pa.types.is_decimal(dtype):
        return _decimals(keys.astype(np.int64), dtype)
    if pa.types.is_date32(dtype) or pa.types.is_time32(dtype):
        return pa.array(keys.astype(np.int32)).cast(dtype)
    return pa.array(keys.astype(np.int64)).cast(dtype)


def _decimals(keys: Int64, dtype: pa.DataType) -> pa.Array:
    words = np.empty((keys.size, 2), dtype="<i8")
    words[:, 0] = keys
    words[:, 1] = keys >> 63
    wide = pa.decimal128(MAX_DECIMAL_DIGITS, dtype.scale)
    return pa.Array.from_buffers(wide, keys.size, [None, pa.py_buffer(words)]).cast(dtype)


@dataclass(frozen=True, eq=False)
class Encoding:
    """The encoding of one column's values as keys, and back.

    ``categories``: of nominal and boolean columns the values present, ascending (of confidential
    ones in the order of their subsets; of those released as nodes of a taxonomy, texts, with the
    names of the nodes above them); of ordinal ones those of the policy's order that are
    present, with ``ranks`` their places in that order. ``priority`` (categories,): how common each
    is, the commonest 0. ``low``, ``high``: smallest and largest key; for ordinal columns the first
    and the last rank. ``generalised``: keys of the release are texts, of intervals, sets or nodes.
    ``by``: what keys of a quasi-identifier are divided by where records are compared;
    ``table_loss``: what squared differences are; None where they count as they are.
    ``sums_in_order``: means of floats are sums in the order of the keys, the same for the same
    records in whatever order they come.
    """

    column: Column
    low: int | float = 0
    high: int | float = 0
    categories: pa.Array | None = None
    ranks: Int64 | None = None
    priority: Int64 | None = None
    generalised: bool = False
    by: ColumnScale = RANGE_SCALE
    table_loss: TableLoss | None = None
    sums_in_order: bool = False

    @property
    def type(self) -> pa.DataType:
        """The type of the column in the data."""
        return plain_type(self.column.type)

    @property
    def is_nominal(self) -> bool:
        """True if values have no order; their distance is 0 or 1, or by a taxonomy."""
        return self.column.kind in (Kind.NOMINAL, Kind.BOOLEAN)

    @property
    def weight(self) -> float:
        """The factor of squared differences on the scale, beside those of other attributes."""
        weight = self.column.attribute.weight
        return weight if self.table_loss is None else weight / self.table_loss.on_scale

    @property
    def has_float_keys(self) -> bool:
        """True if keys are float64; those of categories are indices, int64."""
        return self.categories is None and has_float_keys(self.type)

    @property
    def texts(self) -> list[str]:
        """The categories as texts, in their order; none where keys are numbers."""
        return [] if self.categories is None else [str(v) for v in self.categories.to_pylist()]

    @property
    def release_type(self) -> pa.DataType:
        """The type of the column in the release."""
        if self.generalised:
            return pa.string()
        if self.column.aggregate == ANCESTOR:
            return category_type(self.column)
        if self.column.role is not Role.QUASI_IDENTIFIER or self.column.attribute.rounded:
            return self.type
        if pa.types.is_integer(self.type) or pa.types.is_decimal(self.type):
            return pa.float64()
        return self.type

    def encode(self, array: pa.Array) -> Keys:
        """Keys of an array without nulls."""
        if self.categories is None:
            return to_keys(array, self.column.name)
        positions = self._find_positions(array)
        if positions.null_count:
            raise ChangedInputError(
                f"column {self.column.name!r}: holds values that were not there before; run again "
                "when the input is at rest"
            )
        codes = positions.to_numpy(zero_copy_only=False)
        if self.column.kind is not Kind.ORDINAL:
            return cast(Keys, codes.astype(np.int64))
        assert self.ranks is not None
        return cast(Keys, self.ranks[codes])

    def knows(self, array: pa.Array) -> NDArray[np.bool_]:
        """Return which values of an array without nulls can be encoded: bool (n,)."""
        if self.categories is None:
            return np.ones(len(array), dtype=bool)
        is_known: NDArray[np.bool_] = self._find_positions(array).is_valid().to_numpy(False)
        return is_known

    def _find_positions(self, array: pa.Array) -> pa.Array:
        """The position of each value among the categories, or null."""
        array = one_zero(widen_decimals(array))
        if self.column.aggregate == ANCESTOR and not is_text(array.type):
            array = _to_texts(array)
        return pc.index_in(array, value_set=widen_decimals(self.categories))

    def decode(self, keys: Keys) -> pa.Array:
        """Released values of keys: an array of `release_type`."""
        if self.generalised:
            return pa.array(keys.tolist(), pa.string())
        return self.decode_values(keys)

    def decode_values(self, keys: Keys) -> pa.Array:
        """Values of keys, whether or not they are released."""
        if self.categories is None:
            return from_keys(keys, self.release_type)
        codes = keys.astype(np.int64)
        if self.column.kind is Kind.ORDINAL:
            assert self.ranks is not None
            codes = np.searchsorted(self.ranks, codes)
        return self.categories.take(pa.array(codes))

    def find_categories(self, keys: Keys) -> Int64:
        """Places of keys among the categories: int64 (n,)."""
        codes = keys.astype(np.int64)
        return codes if self.ranks is None else np.searchsorted(self.ranks, codes).astype(np.int64)

    def count_categories(self, keys: Keys) -> Int64:
        """Return how many of the keys are each category: int64 (v,)."""
        assert self.categories is not None
        return np.bincount(self.find_categories(keys), minlength=len(self.categories))

    def scale(self, keys: Keys) -> Float64:
        """Keys on the attribute's scale, 0 where it has one value: float64."""
        span = float(self.high - self.low)
        if span == 0:
            return np.zeros(keys.size)
        return self.by.divide(np.asarray(keys - self.low), span)


def category_type(column: Column) -> pa.DataType:
    """The type of a column's categories: names of nodes are texts."""
    plain = plain_type(column.type)
    return plain if column.aggregate != ANCESTOR or is_text(plain) else pa.string()


def _to_texts(array: pa.Array) -> pa.Array:
    """Values as the texts that a taxonomy names them by."""
    listed = array.dictionary_encode()
    texts = [str(value) for value in listed.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(listed.indices)


def check_span(encoding: Encoding) -> None:
    """Refuse a quasi-identifier whose range does not fit the arithmetic of its means."""
    limit = _MAX_FLOAT_SPAN if has_float_keys(encoding.type) else _MAX_SPAN
    if encoding.categories is None and not encoding.high - encoding.low < limit:
        raise DataError(
            f"column {encoding.column.name!r}: the range of its values is too wide to compute "
            "with; declare it nominal, or store it in a larger unit"
        )
