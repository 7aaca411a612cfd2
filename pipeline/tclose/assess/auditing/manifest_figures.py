"""Comparison of a manifest's figures, from which its report is drawn, with the released rows.

Sizes of classes and the distributions of confidential attributes are described again. The distances
of classes, and the class that is farthest, are not: of equally far ones any may be named, and the
largest distance is compared by itself.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tclose.data.keys import Encoding
from tclose.model.array_types import Int64
from tclose.model.attributes import Column
from tclose.model.column_terms import Kind
from tclose.model.distribution import Distribution
from tclose.passes.publish.figures import OTHERS, describe_class_sizes, group_values, name_value
from tclose.releases.manifest.figure_sections import ReleaseFigures, Shares
from tclose.releases.manifest.privacy_summary import find_differences, three_digits

_PLACE = "figures.attributes"
_ROUNDING = 0.0005 + 1e-9  # of a share to three digits, at most


def find_false_figures(
    stated: ReleaseFigures,
    k: int,
    size_counts: Int64,
    columns: Sequence[Column],
    distributions: Sequence[Distribution],
    categories: Mapping[str, pa.Array],
) -> list[str]:
    """Name the figures that differ from the rows.

    Parameters
    ----------
    size_counts : int64 (2, s): sizes of classes, and how many have each
    columns, distributions : of the confidential attributes
    categories : values of columns whose keys are places among these, by name
    """
    sizes = describe_class_sizes(size_counts)
    places = find_differences(stated.class_sizes, sizes, "figures.class_sizes")
    if stated.attributes.keys() != {column.name for column in columns}:
        return [*places, _PLACE]
    for column, distribution in zip(columns, distributions, strict=True):
        table, place = stated.attributes[column.name].table, f"{_PLACE}.{column.name}.table"
        if column.kind in (Kind.NUMERIC, Kind.DATE):
            grouping = group_values(Encoding(column), distribution, k)
            places += find_differences(table, grouping.share(distribution.counts), place)
        elif not _are_shares(table, k, distribution, categories[column.name]):
            places.append(place)
    return places


def _are_shares(table: Shares, k: int, distribution: Distribution, categories: pa.Array) -> bool:
    """Return whether categories have these shares; which ones are named is left open.

    The rest has what the shares, each of three digits, lack of the whole.
    """
    if abs(sum(table.shares) - 1) > len(table.shares) * _ROUNDING:
        return False
    shares: dict[str, set[float]] = {}
    for value, count in zip(categories, distribution.counts.tolist(), strict=True):
        if count >= k:
            share = three_digits(count / distribution.n_records)
            shares.setdefault(name_value(value), set()).add(share)
    return all(
        share in shares.get(label, ()) or (label == OTHERS and place == len(table.labels) - 1)
        for place, (label, share) in enumerate(zip(table.labels, table.shares, strict=True))
    )
