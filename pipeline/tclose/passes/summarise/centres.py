"""The centres that stand for missing quasi-identifiers, found before anything is counted."""

from collections.abc import Sequence
from dataclasses import replace

from tclose.data.preparation.column_centres import (
    GapCounts,
    Key,
    KeyRange,
    find_category,
    find_percentile,
)
from tclose.model.attributes import Column
from tclose.model.input_pieces import Partition
from tclose.passes.summarise.ranked_values import FoundValue, look_for_values
from tclose.passes.summarise.records import Source, replace_columns
from tclose.runtime.pipeline import PassContext


def find_centres(context: PassContext, source: Source, partitions: Sequence[Partition]) -> Source:
    """The source that knows the centre of each column in which missing values get it."""
    columns = tuple(c for c in source.columns if _imputes(c))
    reading = replace(source.reading, prepared=())
    centres = look_for_values(context, reading, columns, partitions, _find)
    n_read = sum(partition.n_records for partition in partitions)
    settled = {c.name: _settle(c, centres[c.name], n_read) for c in columns}
    return replace_columns(source, settled)


def _imputes(column: Column) -> bool:
    preparation = column.attribute.preparation
    return preparation is not None and preparation.imputes is not None


def _find(
    column: Column, pieces: Sequence[GapCounts], within: KeyRange
) -> Key | str | KeyRange | None:
    if column.kind.is_categorical:
        return find_category(pieces, column)
    return find_percentile([one.ranks for one in pieces if one.ranks is not None], within)


def _settle(column: Column, centre: FoundValue, n_read: int) -> Column:
    assert column.attribute.preparation is not None
    n_imputed = 0 if centre.value is None else centre.n_missing
    preparation = replace(
        column.attribute.preparation,
        imputed=centre.value,
        n_imputed=n_imputed,
        percent_imputed=-(-100 * n_imputed // n_read),
    )
    return replace(column, attribute=replace(column.attribute, preparation=preparation))
