"""Taxonomies: how the values of an attribute are grouped, level above level, up to one root.

They give the hierarchical distance of two values (Li et al. 2007, section 5.2) and the levels of
full-domain generalisation (section 6; LeFevre et al., *Incognito*, 2005).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import cast

import numpy as np

from tclose.errors import DataError, PolicyError
from tclose.kernels.emd.tree_counts import count_below
from tclose.model.array_types import Float64, Int64
from tclose.model.counted_words import count_words
from tclose.model.distribution import TreeMetric

Chain = tuple[str, ...]  # a value's name, then those of the nodes above it, the root's last


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A tree whose leaves are the values of an attribute, as texts.

    Nodes are numbered: the leaves first, in depth-first order, so that a leaf's code is its node;
    then the inner nodes, lowest first; the root last. A leaf has height 0, an inner node one more
    than its highest child; H is the root's.

    ``names`` (nodes,), all different. ``parents`` int64 (nodes,), the root's -1. ``heights`` int64
    (nodes,). ``paths`` int64 (leaves, H + 1): the nodes from each leaf up to the root, then -1.
    ``levels`` int64 (H + 1, leaves): the node that each leaf becomes at each level, 0 the leaf
    itself and H the root. In a branch with fewer steps it is the highest node of height up to the
    level.
    """

    names: tuple[str, ...]
    parents: Int64
    heights: Int64
    paths: Int64
    levels: Int64

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values, in depth-first order."""
        return self.names[: self.paths.shape[0]]

    @property
    def height(self) -> int:
        """H, the height of the root; at least 1."""
        return int(self.levels.shape[0] - 1)

    def name(self, node: int) -> str:
        """The name of a node."""
        return self.names[node]

    @property
    def rows(self) -> tuple[Chain, ...]:
        """Each leaf's name and those of the nodes above it: what `build_from_rows` takes."""
        return tuple(
            tuple(self.names[node] for node in path if node >= 0) for path in self.paths.tolist()
        )

    def restrict(self, values: Sequence[str]) -> Int64:
        """Positions of the values that are not leaves."""
        known = set(self.leaves)
        return np.array([i for i, value in enumerate(values) if value not in known], dtype=np.int64)

    def encode(self, values: Sequence[str], column: str) -> Int64:
        """Codes of the leaves that are these values: int64 (values,).

        Raises
        ------
        DataError
            Values that are not leaves; says how many different ones.
        """
        absent = self.restrict(values)
        if absent.size:
            n_absent = len({values[i] for i in absent})
            raise DataError(
                f"column {column!r}: "
                f"{count_words(n_absent, 'of its values is', 'of its values are')} "
                f"not in its taxonomy; add {'it' if n_absent == 1 else 'them'} to it, or name "
                f"{'it' if n_absent == 1 else 'them'} in input.missing_values"
            )
        codes = {leaf: code for code, leaf in enumerate(self.leaves)}
        return np.array([codes[value] for value in values], dtype=np.int64)

    def generalise(self, codes: Int64, level: int) -> Int64:
        """Nodes that leaves become at a level of 0 to H."""
        return cast(Int64, self.levels[_check_level(level, self.height)][codes])

    def lowest_common(self, a: Int64, b: Int64) -> Int64:
        """The lowest node above both leaves, or the leaf itself where they are one."""
        a, b = np.broadcast_arrays(a, b)
        while (a != b).any():
            # Heights grow along a path, so of two nodes the lower one is above neither.
            a_rises = (a != b) & (self.heights[a] <= self.heights[b])
            b_rises = (a != b) & (self.heights[b] <= self.heights[a])
            a, b = np.where(a_rises, self.parents[a], a), np.where(b_rises, self.parents[b], b)
        return np.array(a)

    def distance(self, a: Int64, b: Int64) -> Float64:
        """Hierarchical distance of leaves: height of the lowest common node, divided by H."""
        return self.heights[self.lowest_common(a, b)] / self.height

    def metric(self, counts: Int64) -> TreeMetric:
        """The hierarchical distance as a tree metric; ``counts`` int64 (leaves,) of the table."""
        numerators = np.zeros(self.parents.size, dtype=np.int64)
        numerators[:-1] = self.heights[self.parents[:-1]] - self.heights[:-1]
        below = count_below(self.paths, counts, self.parents.size)
        return TreeMetric(self.paths, numerators, 2 * self.height, below)


def _check_level(level: int, height: int) -> int:
    """The level; a negative one would count from the root."""
    if not 0 <= level <= height:
        raise PolicyError(f"level {level} is not one of the taxonomy's 0 to {height}; choose those")
    return level


@lru_cache(maxsize=32)
def taxonomy_of(rows: tuple[tuple[str, ...], ...]) -> Taxonomy:
    """Return an attribute's taxonomy, built from its rows once in a process."""
    return build_from_rows(rows)


def build_from_rows(rows: Sequence[Sequence[str]], labels: Sequence[str] | None = None) -> Taxonomy:
    """The taxonomy with one row for each value: its name, its parent's, ..., the root's.

    Where a branch has fewer levels than others, a row is shorter or repeats a name.

    Parameters
    ----------
    labels : each row's name in errors; by default its number

    Raises
    ------
    PolicyError
        The rows make no tree over different values; names the place, never a value.
    """
    labels = labels or [f"row {i:,}" for i in range(1, len(rows) + 1)]
    chains = []
    for row, label in zip(rows, labels, strict=True):
        if not all(name.strip() for name in row):
            raise PolicyError(
                f"{label}: a level without a name; repeat the name before it if the branch does "
                "not have that level"
            )
        # A name that follows itself fills a level that the branch does not have.
        chains.append(tuple(n for i, n in enumerate(row) if i == 0 or row[i - 1] != n))
    _check_chains(chains, labels)
    return _arrange(chains)


def build_from_mapping(document: object) -> Taxonomy:
    """The taxonomy of nested mappings and lists: ``{any: {Europe: [France, Spain]}}``.

    Raises
    ------
    PolicyError
        It makes no tree over different values; names the parent, never a value.
    """
    rows: list[list[str]] = []
    labels: list[str] = []
    seen: set[int] = set()
    pending: list[tuple[object, Chain]] = [(document, ())]
    while pending:
        node, above = pending.pop()
        label = f"below {above[0]!r}" if above else "at the top"
        if not isinstance(node, Mapping | list | tuple):
            rows.append([to_text(node, label), *above])
            labels.append(label)
            continue
        if id(node) in seen:
            raise PolicyError(f"{label}: a branch that appears elsewhere too; write each once")
        seen.add(id(node))
        if not node:
            raise PolicyError(f"{label}: an empty branch; list its values, or leave it out")
        pending.extend(reversed(_list_children(node, above, label)))
    return build_from_rows(rows, labels)


def _list_children(
    node: Mapping[object, object] | Sequence[object], above: Chain, label: str
) -> list[tuple[object, Chain]]:
    """List the entries of a branch, each with the names above it."""
    if not isinstance(node, Mapping):
        return [(item, above) for item in node]
    return [(item, (to_text(name, label), *above)) for name, item in node.items()]


def to_text(name: object, label: str) -> str:
    """Return the text of a value of YAML, if it is unambiguous."""
    if isinstance(name, str):
        return name
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    if name is None:
        raise PolicyError(f"{label}: nothing where a name or a list of values is due; write it")
    raise PolicyError(
        f"{label}: a name that YAML does not read as text, such as no, 1.50 or a date; put it in "
        "quotes"
    )


def _check_chains(chains: list[Chain], labels: Sequence[str]) -> None:
    """Refuse chains that make no tree over different values."""
    if not chains:
        raise PolicyError("it has no values; give one row for each")
    for chain, label in zip(chains, labels, strict=True):
        if len(chain) < 2:
            raise PolicyError(f"{label}: a value with nothing above it; put a root such as * there")
        if len(set(chain)) < len(chain):
            raise PolicyError(f"{label}: a name is its own ancestor; use it for one level only")
    _refuse_repeats(chains, labels)
    n_roots = len({chain[-1] for chain in chains})
    if n_roots > 1:
        raise PolicyError(f"it has {n_roots:,} roots; put one above them all, such as *")
    parents: dict[str, str] = {}
    for chain, label in zip(chains, labels, strict=True):
        for child, parent in pairwise(chain):
            other = parents.setdefault(child, parent)
            if other != parent:
                raise PolicyError(
                    f"{label}: {child!r} has two parents, {other!r} and {parent!r}; give every "
                    "level names of its own"
                )


def _refuse_repeats(chains: list[Chain], labels: Sequence[str]) -> None:
    """Refuse a value that is listed twice, or that is the name of a group as well."""
    groups = {name for chain in chains for name in chain[1:]}
    first: dict[str, int] = {}
    for i, (chain, label) in enumerate(zip(chains, labels, strict=True)):
        if chain[0] in groups:
            raise PolicyError(f"{label}: a value has the name of a group; rename the group")
        before = first.setdefault(chain[0], i)
        if chains[before] != chain:
            raise PolicyError(
                f"{label}: a value has another parent {labels[before]}; leave it one of them"
            )
        if before != i:
            raise PolicyError(f"{label}: a value that appears twice; list it once")


def _arrange(chains: list[Chain]) -> Taxonomy:
    """The taxonomy of chains that make a tree."""
    children: dict[str, dict[str, None]] = {}
    heights: dict[str, int] = {}
    for chain in chains:
        for steps, name in enumerate(chain):
            heights[name] = max(steps, heights.get(name, 0))
            if steps:
                children.setdefault(name, {})[chain[steps - 1]] = None
    visited, pending = [], [chains[0][-1]]
    while pending:
        visited.append(pending.pop())
        pending.extend(reversed(children.get(visited[-1], {})))
    names = sorted(visited, key=heights.__getitem__)  # stable: leaves stay depth-first
    numbers = {name: number for number, name in enumerate(names)}
    paths = np.full((len(chains), heights[names[-1]] + 1), -1, dtype=np.int64)
    parents = np.full(len(names), -1, dtype=np.int64)
    for chain in chains:
        path = [numbers[name] for name in chain]
        paths[path[0], : len(path)] = path
        parents[path[:-1]] = path[1:]
    return _freeze(names, parents, np.array([heights[n] for n in names], dtype=np.int64), paths)


def _freeze(names: list[str], parents: Int64, heights: Int64, paths: Int64) -> Taxonomy:
    """Build the `Taxonomy`, with its levels and with read-only arrays."""
    levels = np.empty((paths.shape[1], paths.shape[0]), dtype=np.int64)
    levels[0] = paths[:, 0]
    for level in range(1, levels.shape[0]):
        # One step at most: the parent of what a leaf was a level lower is at this level or above.
        up = parents[levels[level - 1]]
        levels[level] = np.where((up >= 0) & (heights[up] <= level), up, levels[level - 1])
    for array in (parents, heights, paths, levels):
        array.setflags(write=False)
    return Taxonomy(tuple(names), parents, heights, paths, levels)
