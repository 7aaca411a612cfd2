"""Released keys of a region's clusters; clusters that are released alike are one class."""

from typing import Any, cast

import numpy as np
import pyarrow as pa

from tclose.data.category_trees import tree_of
from tclose.data.key_rows import find_distinct
from tclose.data.keys import Encoding, Keys
from tclose.kernels import aggregate
from tclose.methods.generalisation.full_domain import FullDomain
from tclose.methods.generalisation.generalise import Generalised, ancestors_of, generalise_column
from tclose.model.array_types import Float64, Int64
from tclose.model.attributes import ANCESTOR, LOW_MEDIAN
from tclose.model.column_terms import Kind
from tclose.passes.microaggregate.gaps import Gaps
from tclose.passes.plan.plan import Plan


def release_classes(
    labels: Int64,
    keys: list[Keys],
    plan: Plan,
    levels: FullDomain | None,
    gaps: Gaps,
) -> tuple[list[Keys], Int64, Int64]:
    """Released keys of each cluster; clusters with equal ones become one equivalence class."""
    n_labels = int(labels.max()) + 1
    order, starts = aggregate.group_by_label(labels, n_labels)
    released: list[Any] = []
    for j, (encoding, column) in enumerate(zip(plan.encodings, keys, strict=True)):
        if encoding.generalised:
            released.append(generalise_clusters(j, encoding, column, (order, starts), levels).texts)
        else:
            members = gaps.keep_known(j, (order, starts))
            released.append(aggregate_column(encoding, column, *members))
    return join_alike(labels, released)


def join_alike(labels: Int64, released: list[Any]) -> tuple[list[Keys], Int64, Int64]:
    """Make one class of clusters with equal released keys; classes in the order of their keys."""
    keys, class_of = find_distinct(released)
    order, starts = aggregate.group_by_label(class_of[labels], keys[0].size)
    return keys, order, starts


def generalise_clusters(
    j: int, encoding: Encoding, keys: Keys, by_class: tuple[Int64, Int64], levels: FullDomain | None
) -> Generalised:
    """Generalise quasi-identifier j of clusters: to its level, or to cover their values."""
    if levels is not None:
        return levels.release(j, keys, *by_class)
    return generalise_column(encoding, keys, *by_class, ancestors_of(encoding))


def aggregate_column(encoding: Encoding, keys: Keys, order: Int64, starts: Int64) -> Keys:
    """Aggregate each cluster's keys, in keys of the release's type (c,).

    Numeric and date: mean, median or lower median; ordinal: lower median; nominal: mode, ties to
    the value that is commoner in the whole table, or the lowest common ancestor of the values in
    their taxonomy.
    """
    tree = tree_of(encoding)
    if tree is not None and encoding.column.aggregate == ANCESTOR:
        return tree.lowest_common(keys, order, starts)
    if encoding.is_nominal:
        assert encoding.priority is not None
        return cast(Keys, aggregate.modes(keys, order, starts, encoding.priority))
    if encoding.column.kind is Kind.ORDINAL:
        return cast(Keys, aggregate.lower_medians(keys, order, starts))
    rounded = keys.dtype == np.int64 and encoding.release_type == encoding.type
    if encoding.column.aggregate == LOW_MEDIAN:
        values = aggregate.lower_medians(keys, order, starts)
        return cast(Keys, values) if rounded else _as_released(values.astype(float), encoding)
    if encoding.column.aggregate == "median":
        return _middle_values(keys, order, starts, rounded, encoding)
    if rounded:
        return cast(Keys, aggregate.integer_means(keys, order, starts))
    if encoding.sums_in_order:
        classes = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        order = order[np.lexsort((keys[order], classes))]
    return _as_released(aggregate.float_means(keys.astype(np.float64), order, starts), encoding)


def _middle_values(
    keys: Keys, order: Int64, starts: Int64, rounded: bool, encoding: Encoding
) -> Keys:
    lower, upper = aggregate.middle_keys(keys, order, starts)
    if rounded:
        return cast(Keys, lower + (upper - lower + 1) // 2)
    return _as_released(lower + (upper - lower) / 2, encoding)


def _as_released(values: Float64, encoding: Encoding) -> Float64:
    """Floats as the release holds them: single precision stays; decimals get their point."""
    if pa.types.is_decimal(encoding.type):
        return cast(Float64, values / 10.0**encoding.type.scale)
    if pa.types.is_floating(encoding.type):
        values = values.astype(encoding.type.to_pandas_dtype()).astype(np.float64)
    return values + 0.0
