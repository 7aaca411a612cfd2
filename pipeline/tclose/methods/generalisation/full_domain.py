"""Full-domain generalisation of a table's quasi-identifiers over the hierarchies of its policy.

A nominal attribute has its taxonomy's levels, a numeric one its intervals'; one with neither has
two levels, the value and everything.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.keys import Encoding, Keys
from tclose.data.taxonomy import taxonomy_of
from tclose.errors import DataError, PolicyError
from tclose.methods.generalisation.generalise import Generalised
from tclose.methods.generalisation.intervals import (
    EVERYTHING,
    IntervalTaxonomy,
    build_intervals,
)
from tclose.methods.generalisation.notation import quote_text, spell_keys
from tclose.model.array_types import Float64, Int64
from tclose.model.column_terms import Kind

Holds = Callable[[Int64, Int64], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The levels of one quasi-identifier over the distinct keys that it has, u of them.

    ``tables`` int64 (levels, u): code at each level; ``texts``: of each level's codes, in the order
    of the distinct keys, (levels, u); ``lows``, ``highs`` (levels, u): ends of what a text
    covers; ``spans`` float64 (levels, u): its share of the attribute.
    """

    keys: Keys
    tables: Int64
    texts: NDArray[np.str_]
    lows: Float64
    highs: Float64
    spans: Float64


@dataclass(frozen=True, eq=False)
class FullDomain:
    """The result of the search: a level of each attribute, and the classes at these levels."""

    node: tuple[int, ...]
    labels: Int64
    hierarchies: tuple[Hierarchy, ...]

    def release(self, j: int, keys: Keys, order: Int64, starts: Int64) -> Generalised:
        """Return the released texts of classes for attribute j; their records share their text."""
        hierarchy, level = self.hierarchies[j], self.node[j]
        of_class = np.searchsorted(hierarchy.keys, keys[order[starts[:-1]]])
        return Generalised(
            hierarchy.texts[level][of_class],
            hierarchy.lows[level][of_class],
            hierarchy.highs[level][of_class],
            hierarchy.spans[level][of_class],
        )


def height_of(encoding: Encoding) -> int:
    """The highest level of an attribute's hierarchy; its values are level 0."""
    attribute = encoding.column.attribute
    if encoding.is_nominal and attribute.taxonomy:
        return taxonomy_of(attribute.taxonomy).height
    if attribute.intervals is None:
        return 1
    in_keys = _in_units_of_keys(_intervals_of(encoding), encoding)
    try:
        in_keys.check_exact(max(abs(float(encoding.low)), abs(float(encoding.high))))
    except DataError as error:
        raise DataError(f"attributes.{encoding.column.name}.{error}") from None
    return in_keys.height


def describe_level(encoding: Encoding, level: int) -> str:
    """Describe the released values at a level of an attribute's hierarchy."""
    attribute, is_top = encoding.column.attribute, level == height_of(encoding)
    if level == 0:
        return "the value itself"
    if encoding.is_nominal and attribute.taxonomy:
        return "the root of the taxonomy" if is_top else f"nodes of level {level} of the taxonomy"
    if is_top or attribute.intervals is None:
        return f"{EVERYTHING} for all values"
    return f"intervals of width {attribute.intervals[0][level - 1]}"


def make_hierarchy(encoding: Encoding, keys: Keys) -> Hierarchy:
    """The levels of a quasi-identifier over the distinct keys that it has."""
    attribute = encoding.column.attribute
    if encoding.is_nominal and attribute.taxonomy:
        return _taxonomy_levels(encoding, keys)
    if attribute.intervals is not None:
        return _interval_levels(encoding, keys, _intervals_of(encoding))
    return _two_levels(encoding, keys)


def _intervals_of(encoding: Encoding) -> IntervalTaxonomy:
    """The intervals of the policy, in units of the values.

    Raises
    ------
    PolicyError
        They are none, or the attribute holds no numbers; names the attribute.
    """
    column = encoding.column
    assert column.attribute.intervals is not None
    where = f"attributes.{column.name}"
    if column.kind is not Kind.NUMERIC:
        raise PolicyError(f"{where}: is {column.kind}; intervals go with numbers, take them out")
    try:
        return build_intervals(*column.attribute.intervals)
    except PolicyError as error:
        raise PolicyError(f"{where}.{error}") from None


def _two_levels(encoding: Encoding, keys: Keys) -> Hierarchy:
    places = np.arange(keys.size)
    values = np.array(spell_keys(encoding, keys), dtype=np.str_)
    texts = np.array([values, np.full(keys.size, EVERYTHING)])
    own = keys.astype(np.float64)
    return Hierarchy(
        keys,
        np.array([places, np.zeros(keys.size, np.int64)]),
        texts,
        np.array([own, np.full(keys.size, float(encoding.low))]),
        np.array([own, np.full(keys.size, float(encoding.high))]),
        np.array([np.zeros(keys.size), np.ones(keys.size)]),
    )


def _taxonomy_levels(encoding: Encoding, keys: Keys) -> Hierarchy:
    taxonomy = taxonomy_of(encoding.column.attribute.taxonomy)
    leaves = taxonomy.encode(encoding.texts, encoding.column.name)
    of_values = taxonomy.levels[:, leaves]
    tables = of_values[:, keys.astype(np.int64)]
    names = np.array([quote_text(name) for name in taxonomy.names], dtype=np.str_)
    n_nodes = names.size
    below = np.array([np.bincount(level, minlength=n_nodes) for level in of_values])
    covered = np.take_along_axis(below, tables, axis=1)
    own = np.broadcast_to(keys.astype(np.float64), tables.shape)
    spans = (covered - 1) / max(leaves.size - 1, 1)
    return Hierarchy(keys, tables, names[tables], own, own, spans)


def _interval_levels(encoding: Encoding, keys: Keys, intervals: IntervalTaxonomy) -> Hierarchy:
    in_keys = _in_units_of_keys(intervals, encoding)
    tables = in_keys.tabulate(keys)
    own = keys.astype(np.float64)
    texts, lows, highs = [np.array(spell_keys(encoding, keys), dtype=np.str_)], [own], [own]
    for level in range(1, intervals.height + 1):
        names = {code: intervals.name(code, level) for code in np.unique(tables[level]).tolist()}
        texts.append(np.array([names[code] for code in tables[level].tolist()], dtype=np.str_))
        low, high = (
            np.full(keys.size, float(encoding.low)),
            np.full(keys.size, float(encoding.high)),
        )
        if level < intervals.height:
            width, origin = float(in_keys.widths[level - 1]), float(in_keys.origin)
            low = np.maximum(low, origin + tables[level] * width)
            high = np.minimum(high, origin + (tables[level] + 1) * width)
        lows.append(low)
        highs.append(high)
    span = float(encoding.high - encoding.low) or 1.0
    ends = np.array(lows), np.array(highs)
    return Hierarchy(keys, tables, _stack(texts), *ends, (ends[1] - ends[0]) / span)


def _in_units_of_keys(intervals: IntervalTaxonomy, encoding: Encoding) -> IntervalTaxonomy:
    """The same intervals for keys: those of decimals count their last digit."""
    if not pa.types.is_decimal(encoding.type):
        return intervals
    parts = 10**encoding.type.scale
    return IntervalTaxonomy(tuple(w * parts for w in intervals.widths), intervals.origin * parts)


def _stack(texts: list[NDArray[np.str_]]) -> NDArray[np.str_]:
    """Rows of texts as one array of the widest of them."""
    widest = max(row.dtype.itemsize for row in texts) // np.dtype("U1").itemsize
    return np.array([row.astype(f"U{max(widest, 1)}") for row in texts])
