"""Resolution of columns whose values are prepared: their types in the files, and afterwards."""

from dataclasses import replace

import pyarrow as pa

from tclose.data.columns import resolve_column
from tclose.data.keys import MAX_DECIMAL_DIGITS, is_number, is_text, name_type, plain_type
from tclose.data.preparation.prepare_values import find_misfit
from tclose.errors import DataError
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind
from tclose.model.preparation import OF_CLASS


def resolve_prepared(attribute: Attribute, dtype: pa.DataType) -> Column:
    """Settle a column as it is once its values are prepared.

    Parameters
    ----------
    dtype : of the values in the files

    Raises
    ------
    DataError
        As `resolve_column`; or values of the type cannot be prepared so.
    """
    preparation, plain = attribute.preparation, plain_type(dtype)
    if attribute.grouping is not None and attribute.grouping.calendar:
        attribute = _take_dates(attribute, plain)
    if preparation is None:
        return resolve_column(attribute, dtype)
    where = f"column {attribute.name!r}"
    if preparation.fills:
        if not is_text(plain):
            raise DataError(
                f"{where}: missing: category goes with texts, the data hold type "
                f"{name_type(plain)}; store it as text"
            )
        return resolve_column(attribute, dtype)
    if preparation.imputes is not None:
        return _resolve_imputed(attribute, dtype, preparation.imputes)
    if not is_number(plain):
        raise DataError(
            f"{where}: round, bottom, top and bands go with numbers, the data hold type "
            f"{name_type(plain)}; store numbers, or take them out"
        )
    if pa.types.is_decimal(plain) and plain.precision > MAX_DECIMAL_DIGITS:
        raise DataError(
            f"{where}: {plain} has more than {MAX_DECIMAL_DIGITS} digits; store it as a decimal of "
            f"at most {MAX_DECIMAL_DIGITS} digits or as a float"
        )
    key = find_misfit(preparation, plain)
    if key is not None:
        raise DataError(
            f"{where}: {key} is no value of its type {name_type(plain)}; give one that is, or "
            "store the column as a float"
        )
    if not preparation.bands:
        return resolve_column(attribute, dtype)
    banded = replace(attribute, kind=Kind.ORDINAL, order=preparation.labels)
    return resolve_column(banded, pa.string())


def _resolve_imputed(attribute: Attribute, dtype: pa.DataType, centre: str) -> Column:
    """The column, if its values have this centre, and it can be written down."""
    column, plain = resolve_column(attribute, dtype), plain_type(dtype)
    has_order = column.kind not in (Kind.NOMINAL, Kind.BOOLEAN)
    needed = "median" if has_order else "mode"
    if centre not in (needed, OF_CLASS):
        raise DataError(
            f"column {column.name!r}: missing: {centre} does not go with values that are "
            f"{column.kind}; say missing: {needed}, or declare another type"
        )
    if column.kind.is_categorical and not (is_text(plain) or pa.types.is_boolean(plain)):
        raise DataError(
            f"column {column.name!r}: missing: {centre} of categories goes with texts, the data "
            f"hold type {name_type(plain)}; store it as text"
        )
    return column


def _take_dates(attribute: Attribute, plain: pa.DataType) -> Attribute:
    """The attribute of dates that are names of days, with groups above them."""
    if pa.types.is_date(plain) or pa.types.is_timestamp(plain):
        return replace(attribute, kind=Kind.NOMINAL)
    raise DataError(
        f"column {attribute.name!r}: calendar goes with dates, the data hold type "
        f"{name_type(plain)}; store dates, or say how they are written by date_format"
    )
