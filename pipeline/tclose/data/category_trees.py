"""Nominal quasi-identifiers with a taxonomy: where their categories are in it.

The hierarchical distance of two values is the height of their lowest common ancestor, as a share of
the taxonomy's height H (Li et al. 2007, section 5.2). That is a sum over levels: 1/H for each of
the levels 0 to H-1 at which the two are below different nodes. So kernels take such an attribute as
H nominal columns of weight 1/H.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tclose.data.keys import Encoding, Keys
from tclose.data.taxonomy import Taxonomy, taxonomy_of
from tclose.model.array_types import Int64
from tclose.model.column_terms import Role


@dataclass(frozen=True, eq=False)
class CategoryTree:
    """The categories of an encoding in a taxonomy of height H.

    ``levels`` int64 (H + 1, categories): the node that each is below at each level; where a
    category is an inner node itself, -1 at the levels lower than it, as it is none of those below.
    ``category_of`` int64 (nodes,): which category a node is, -1 where it is none.
    """

    levels: Int64
    category_of: Int64

    @property
    def height(self) -> int:
        """H, at least 1."""
        return int(self.levels.shape[0] - 1)

    def columns(self) -> NDArray[np.int32]:
        """Codes of the categories' nodes at the levels 0 to H-1: int32 (H, categories), -1 of none.

        The codes of a level are numbered from left to right; siblings are in the order of their
        first categories, so that it is the same however the taxonomy lists them.
        """
        leaves = np.flatnonzero(self.levels[0] >= 0)
        below = self.levels[:-1, leaves]
        first = np.full((self.height, self.category_of.size), leaves.size)
        for level, nodes in enumerate(below):
            np.minimum.at(first[level], nodes, np.arange(leaves.size))
        by_place = np.lexsort([of_node[nodes] for of_node, nodes in zip(first, below, strict=True)])
        codes = np.full(self.levels[:-1].shape, -1, dtype=np.int32)
        for level, nodes in enumerate(below):
            ranked = nodes[by_place]
            of_node = np.empty(self.category_of.size, dtype=np.int32)
            of_node[ranked] = np.cumsum(np.append(0, ranked[1:] != ranked[:-1]))[: ranked.size]
            there = self.levels[level] >= 0
            codes[level, there] = of_node[self.levels[level][there]]
        return codes

    def lowest_common(self, keys: Keys, order: Int64, starts: Int64) -> Int64:
        """The lowest category above all values of each class: int64 (c,).

        Records of class i are ``order[starts[i]:starts[i + 1]]``; no class is empty, and the
        categories have the nodes above those that are leaves (see `encodings.make_encoding`).
        """
        members = keys[order].astype(np.int64)
        lowest = np.full(starts.size - 1, -1, dtype=np.int64)
        for nodes in self.levels:
            of_records = nodes[members]
            low = np.minimum.reduceat(of_records, starts[:-1])
            meets = (lowest < 0) & (low == np.maximum.reduceat(of_records, starts[:-1]))
            lowest[meets] = low[meets]
        return self.category_of[lowest]

    def count_apart(self, keys: Keys, released: Keys) -> Int64:
        """Hierarchical distances of values to what they are released as, times H; all int64 (n,).

        Height of the lowest common ancestor; of a value and a node above it that is the node's own
        height.
        """
        before, after = keys.astype(np.int64), released.astype(np.int64)
        n_apart = np.zeros(before.size, dtype=np.int64)
        for nodes in self.levels:
            n_apart += nodes[before] != nodes[after]
        return n_apart

    def list_below(self) -> dict[int, Int64]:
        """The categories that are values, ascending, of each category that is or covers them."""
        leaves = np.flatnonzero(self.levels[0] >= 0)
        below: dict[int, Int64] = {}
        for nodes in self.levels[::-1, leaves]:  # a node of several levels covers the same in each
            by_node = np.argsort(nodes, kind="stable")
            first = np.flatnonzero(np.diff(nodes[by_node], prepend=-1))
            covered = np.split(leaves[by_node], first[1:])
            keys = self.category_of[nodes[by_node][first]].tolist()
            below |= dict(zip(keys, covered, strict=True))
        return below

    def lose_all(self, counts: Int64) -> float:
        """The mean distance of records to the lowest category above all of them.

        ``counts`` int64 (categories,): records of each, not all 0.
        """
        there = np.flatnonzero(counts)
        above = self.lowest_common(there, np.arange(there.size), np.array([0, there.size]))
        n_apart = self.count_apart(there, above.repeat(there.size))
        return int(n_apart @ counts[there]) / (self.height * int(counts.sum()))


@lru_cache(maxsize=64)
def tree_of(encoding: Encoding) -> CategoryTree | None:
    """The tree of a nominal quasi-identifier's categories; None where it has no taxonomy."""
    column = encoding.column
    if column.role is not Role.QUASI_IDENTIFIER or not column.attribute.taxonomy:
        return None
    taxonomy = taxonomy_of(column.attribute.taxonomy)
    numbers = {name: node for node, name in enumerate(taxonomy.names)}
    nodes = np.array([numbers[text] for text in encoding.texts], dtype=np.int64)
    levels = taxonomy.levels[:, _leaves_below(taxonomy)[nodes]].copy()
    levels[np.arange(taxonomy.height + 1)[:, None] < taxonomy.heights[nodes]] = -1
    category_of = np.full(len(taxonomy.names), -1, dtype=np.int64)
    category_of[nodes] = np.arange(nodes.size)
    for array in (levels, category_of):
        array.setflags(write=False)
    return CategoryTree(levels, category_of)


def code_levels(encoding: Encoding) -> NDArray[np.int32]:
    """Codes of a nominal attribute's categories, level by level: int32 (1 or H, categories)."""
    tree = tree_of(encoding)
    if tree is not None:
        return tree.columns()
    assert encoding.categories is not None
    return np.arange(len(encoding.categories), dtype=np.int32)[None, :]


def _leaves_below(taxonomy: Taxonomy) -> Int64:
    """A leaf below each node, a leaf itself of its own: int64 (nodes,)."""
    leaves = np.empty(len(taxonomy.names), dtype=np.int64)
    for path in taxonomy.paths.T[::-1]:
        there = path >= 0
        leaves[path[there]] = np.flatnonzero(there)
    return leaves
