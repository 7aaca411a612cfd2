"""Construction of each column's encoding as keys, from the summaries of pass 1."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.data.category_trees import code_levels, tree_of
from tclose.data.column_scales import (
    RANGE_SCALE,
    ColumnScale,
    TableLoss,
    choose_scale,
    lose_categories,
    lose_numbers,
    measure_scale,
)
from tclose.data.keys import Encoding, Keys, category_type, check_span, to_values
from tclose.data.taxonomy import taxonomy_of
from tclose.data.value_counts import ColumnSummary
from tclose.model.array_types import Int64
from tclose.model.attributes import ANCESTOR, LOW_MEDIAN, Column
from tclose.model.column_terms import Kind, Role


def make_encoding(
    column: Column,
    summary: ColumnSummary,
    sample: Keys | None = None,
    *,
    has_relative_loss: bool = False,
) -> Encoding:
    """Return the encoding of a column's values as keys, from its summary over the whole table.

    Parameters
    ----------
    sample : keys of a number that a scale is measured on, ascending
    has_relative_loss : whether a quasi-identifier counts in shares of what one class loses of it
    """
    encoding = _make_encoding(column, summary)
    if column.role is not Role.QUASI_IDENTIFIER:
        return encoding
    counts = _count_categories(encoding, summary)
    if encoding.is_nominal:
        if not has_relative_loss:
            return encoding
        return replace(encoding, table_loss=_lose_nominal(encoding, counts))
    if encoding.ranks is not None:  # ordinal: all is counted
        sample = encoding.ranks.repeat(counts)
    if sample is None:
        return encoding
    return _scale(encoding, sample, has_relative_loss=has_relative_loss)


def _scale(encoding: Encoding, sample: Keys, *, has_relative_loss: bool) -> Encoding:
    """The encoding of a number or an ordinal value, with its scale and what one class loses."""
    offsets = (sample - encoding.low).astype(np.float64)
    span = float(encoding.high - encoding.low)
    scale = encoding.column.attribute.scale
    if scale is not None:
        encoding = replace(encoding, by=measure_scale(scale, offsets, span))
    elif not encoding.column.kind.is_categorical:
        encoding = _scale_by_tails(encoding, choose_scale(offsets, span))
    if not has_relative_loss:
        return encoding
    return replace(encoding, table_loss=lose_numbers(encoding.by, offsets, span))


def _lose_nominal(encoding: Encoding, counts: Int64) -> TableLoss | None:
    """What one class loses, by the mode or by the lowest node above all categories that are."""
    lost = lose_categories(code_levels(encoding), counts)
    tree = tree_of(encoding)
    if lost is None or tree is None or encoding.column.aggregate != ANCESTOR:
        return lost
    return replace(lost, by_range=tree.lose_all(counts))


def _count_categories(encoding: Encoding, summary: ColumnSummary) -> Int64:
    """Records of each category: int64 (categories,), none of numbers; nodes above values have 0."""
    if encoding.categories is None:
        return np.empty(0, dtype=np.int64)
    if encoding.column.aggregate == ANCESTOR:
        of_texts = Counter({str(value): n for value, n in summary.categories.items()})
        return np.array([of_texts[text] for text in encoding.texts], dtype=np.int64)
    values = to_values(encoding.categories)
    return np.array([summary.categories[value] for value in values], dtype=np.int64)


def _scale_by_tails(encoding: Encoding, chosen: ColumnScale) -> Encoding:
    """Scale a number; where its tails are heavy a class releases one of its values."""
    column = encoding.column
    if chosen is not RANGE_SCALE and column.attribute.aggregate is None:
        attribute = replace(column.attribute, aggregate=LOW_MEDIAN)
        column = replace(column, attribute=attribute)
    return replace(encoding, column=column, by=chosen)


def _make_encoding(column: Column, summary: ColumnSummary) -> Encoding:
    listed = column.kind in (Kind.ORDINAL, Kind.NOMINAL)
    if column.role is Role.CONFIDENTIAL and not listed:
        return Encoding(column)
    if column.kind.is_categorical or column.role is Role.NON_CONFIDENTIAL:
        return _categorical_encoding(column, summary.categories)
    assert summary.low is not None
    assert summary.high is not None
    encoding = Encoding(column, summary.low, summary.high)
    if column.role is Role.QUASI_IDENTIFIER:
        check_span(encoding)
    return encoding


def _categorical_encoding(column: Column, counts: Counter[Any]) -> Encoding:
    rank_of = {text: rank for rank, text in enumerate(column.attribute.order)}
    ordinal = column.kind is Kind.ORDINAL
    values = sorted(value for value in counts if value is not None)
    if ordinal:
        values.sort(key=lambda value: rank_of[str(value)])
    elif column.role is Role.CONFIDENTIAL:
        values = _order_nominal(values, counts, column)
    elif column.attribute.taxonomy:
        values, counts = _name_nodes(values, counts, column)
    by_frequency = sorted(range(len(values)), key=lambda i: (-counts[values[i]], i))
    priority = np.empty(len(values), dtype=np.int64)
    priority[by_frequency] = np.arange(len(values))
    ranks = np.array([rank_of[str(value)] for value in values], np.int64) if ordinal else None
    high = len(rank_of) - 1 if ordinal else max(len(values) - 1, 0)
    categories = pa.array(values, type=category_type(column))
    return Encoding(column, 0, high, categories, ranks, priority)


def _name_nodes(
    values: list[Any], counts: Counter[Any], column: Column
) -> tuple[list[Any], Counter[Any]]:
    """Values of a quasi-identifier with a taxonomy and their counts.

    Where classes are released as nodes, the names of those above the values are among them.
    """
    taxonomy = taxonomy_of(column.attribute.taxonomy)
    leaves = taxonomy.encode([str(v) for v in values], column.name)
    if column.aggregate != ANCESTOR:
        return values, counts
    nodes = np.unique(taxonomy.levels[:, leaves])
    of_texts = Counter({str(v): counts[v] for v in values})
    return sorted(taxonomy.name(node) for node in nodes.tolist()), of_texts


def _order_nominal(values: list[Any], counts: Counter[Any], column: Column) -> list[Any]:
    """Confidential values as subsets take them: by the taxonomy, or the commonest first."""
    attribute = column.attribute
    if not attribute.taxonomy or attribute.by_frequency:
        return sorted(values, key=lambda value: -counts[value])
    leaves = taxonomy_of(attribute.taxonomy).encode([str(v) for v in values], column.name)
    return [values[i] for i in np.argsort(leaves, kind="stable")]
