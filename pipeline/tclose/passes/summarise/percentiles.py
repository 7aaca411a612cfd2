"""Bounds of columns that are percentiles of their values, found before anything is counted."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from tclose.data.keys import has_float_keys
from tclose.data.preparation.column_centres import GapCounts, Key, KeyRange, find_percentile
from tclose.data.preparation.prepare_values import scale_of
from tclose.errors import DataError
from tclose.model.attributes import Column
from tclose.model.input_pieces import Partition
from tclose.model.preparation import Preparation
from tclose.passes.summarise.ranked_values import look_for_values
from tclose.passes.summarise.records import Source, replace_columns
from tclose.runtime.pipeline import PassContext

End = Literal["bottom", "top"]
_PERCENT = 100


def find_bounds(context: PassContext, source: Source, partitions: Sequence[Partition]) -> Source:
    """The source that knows the bounds which a policy names by percentiles.

    Raises
    ------
    DataError
        A column's bottom would not be below its top.
    """
    source = _find_ends(context, source, partitions, "bottom")
    source = _find_ends(context, source, partitions, "top")
    for column in source.columns:
        _check_order(column)
    return source


def _find_ends(
    context: PassContext, source: Source, partitions: Sequence[Partition], end: End
) -> Source:
    shares = {c.name: share for c in source.columns if (share := _share_of(c, end)) is not None}
    columns = tuple(c for c in source.columns if c.name in shares)

    def find(
        column: Column, pieces: Sequence[GapCounts], within: KeyRange
    ) -> Key | KeyRange | None:
        ranks = [one.ranks for one in pieces if one.ranks is not None]
        return find_percentile(ranks, within, shares[column.name])

    reading = replace(source.reading, prepared=())
    percentiles = look_for_values(context, reading, columns, partitions, find, label=f"{end}-")
    return replace_columns(
        source, {c.name: _settle(c, end, percentiles[c.name].value) for c in columns}
    )


def _share_of(column: Column, end: End) -> Fraction | None:
    prepared = column.attribute.preparation
    if prepared is None:
        return None
    percent = prepared.bottom_percentile if end == "bottom" else prepared.top_percentile
    return None if percent is None else percent / _PERCENT


def _settle(column: Column, end: End, key: Key | str | None) -> Column:
    """The column with a bound at a key; without values there is none, and nothing to bound."""
    prepared = column.attribute.preparation
    assert prepared is not None
    assert not isinstance(key, str)
    bound = None if key is None else _round(_exact(key, column), prepared.step)
    percent = None if key is None else _PERCENT * (_share_of(column, end) or Fraction(0))
    if end == "bottom":
        new_preparation = replace(prepared, bottom=bound, bottom_percentile=percent)
    else:
        new_preparation = replace(prepared, top=bound, top_percentile=percent)
    preparation = None if new_preparation == Preparation() else new_preparation
    return replace(column, attribute=replace(column.attribute, preparation=preparation))


def _exact(key: Key, column: Column) -> Fraction:
    unit = 1 if has_float_keys(column.type) else scale_of(column.type)
    return Fraction(key) / unit


def _round(bound: Fraction, step: Fraction | None) -> Fraction:
    """The nearest multiple of the step, of two the even one, as values are rounded."""
    return bound if step is None else round(bound / step) * step


def _check_order(column: Column) -> None:
    prepared = column.attribute.preparation
    if prepared is None or prepared.bottom is None or prepared.top is None:
        return
    if prepared.bottom >= prepared.top:
        raise DataError(
            f"column {column.name!r}: its bottom is not below its top; take percentiles farther "
            "apart, or give numbers"
        )
