"""Resolution of a column's kind, from the policy and the data's type, and checks of that kind."""

import pyarrow as pa

from tclose.data.keys import (
    MAX_DECIMAL_DIGITS,
    is_number,
    is_temporal,
    is_text,
    name_type,
    natural_kind,
    plain_type,
    unknown_zone,
)
from tclose.errors import DataError
from tclose.model.attributes import ANCESTOR, LOW_MEDIAN, REPRESENTATIVE, Attribute, Column
from tclose.model.column_terms import Distance, Kind, Role

CHECKED_ROLES = (Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL, Role.PERSON)
_AVERAGED = (Kind.NUMERIC, Kind.DATE)


def resolve_column(attribute: Attribute, dtype: pa.DataType) -> Column:
    """Settle the kind of a column from the policy and its type.

    Raises
    ------
    DataError
        The type cannot be what the policy says, or is of no use in its role.
    """
    plain, where = plain_type(dtype), f"column {attribute.name!r}"
    natural = natural_kind(dtype)
    if natural is None:
        raise DataError(
            f"{where}: type {name_type(plain)} is not supported; convert it, make it an "
            "identifier, or leave it out with unlisted: drop"
        )
    column = Column(attribute, attribute.kind or natural, dtype)
    _check_person(column)
    fits = {Kind.NUMERIC: is_number, Kind.DATE: is_temporal, Kind.BOOLEAN: pa.types.is_boolean}
    if column.kind in fits and not fits[column.kind](plain):
        raise DataError(
            f"{where}: the policy says {column.kind}, the data hold {_describe(plain)}; convert "
            "it, or declare another type"
        )
    _check_zone(column)
    _check_distance(column)
    _check_digits(column)
    _check_aggregate(column)
    _check_scale(column)
    return column


def _check_person(column: Column) -> None:
    """Refuse persons whose identifiers may be equal and not look it, or the other way round."""
    plain = plain_type(column.type)
    if column.role is Role.PERSON and not (is_text(plain) or pa.types.is_integer(plain)):
        raise DataError(
            f"column {column.name!r}: type {name_type(plain)} does not say whose a record is; "
            "store persons as text or integers"
        )


def _check_zone(column: Column) -> None:
    """Refuse times of a zone that nobody here can tell the days of."""
    plain = plain_type(column.type)
    if column.role not in CHECKED_ROLES or not pa.types.is_timestamp(plain):
        return
    try:
        pa.scalar(0, plain).as_py()
    except (LookupError, ValueError):
        raise unknown_zone(column.name) from None


def _describe(dtype: pa.DataType) -> str:
    return "text" if is_text(dtype) else f"type {name_type(dtype)}"


def _check_distance(column: Column) -> None:
    """Refuse a distance, or a taxonomy, that the kind does not have."""
    attribute, where = column.attribute, f"column {column.name!r}"
    if attribute.taxonomy and column.kind is not Kind.NOMINAL:
        raise DataError(
            f"{where}: is {column.kind}, a taxonomy goes with nominal values; declare it type: "
            "nominal, or take the taxonomy out"
        )
    if attribute.distance is Distance.ORDERED and column.kind is Kind.NOMINAL:
        raise DataError(
            f"{where}: distance: ordered needs values with an order, the data hold "
            f"{_describe(plain_type(column.type))}; give it type: ordinal and an order, or take "
            "distance: equal"
        )


def _check_digits(column: Column) -> None:
    plain = plain_type(column.type)
    is_key = column.role in CHECKED_ROLES and column.kind is Kind.NUMERIC
    if is_key and pa.types.is_decimal(plain) and plain.precision > MAX_DECIMAL_DIGITS:
        raise DataError(
            f"column {column.name!r}: {plain} has more than {MAX_DECIMAL_DIGITS} digits; store it "
            f"as a decimal of at most {MAX_DECIMAL_DIGITS} digits or as a float"
        )


def _check_aggregate(column: Column) -> None:
    """Refuse an aggregate, or its rounding, that the kind does not have."""
    aggregate = column.attribute.aggregate
    allowed = (
        ("mean", "median", LOW_MEDIAN)
        if column.kind in _AVERAGED
        else (column.usual_aggregate, REPRESENTATIVE)
    )
    if column.attribute.taxonomy or column.attribute.grouping is not None:
        allowed = (*allowed, ANCESTOR)
    if aggregate is not None and aggregate not in allowed:
        raise DataError(
            f"column {column.name!r}: is {column.kind}, its aggregate can be "
            f"{' or '.join(allowed)}, not {aggregate}"
        )
    if column.kind is not Kind.NUMERIC and not column.attribute.rounded:
        raise DataError(
            f"column {column.name!r}: is {column.kind}; round: false goes with numbers, take it out"
        )


def _check_scale(column: Column) -> None:
    """Refuse a scale of values that have no order."""
    if column.attribute.scale is not None and column.kind in (Kind.NOMINAL, Kind.BOOLEAN):
        raise DataError(
            f"column {column.name!r}: is {column.kind}; scale goes with values that have an order, "
            "take it out"
        )
