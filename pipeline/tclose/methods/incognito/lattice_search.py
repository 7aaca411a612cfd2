"""Incognito: all minimal full-domain generalisations of the quasi-identifiers that meet a policy.

LeFevre, DeWitt and Ramakrishnan, *Incognito: Efficient Full-Domain k-Anonymity*, 2005, section 3;
Li et al. 2007, sections 4 and 6, for t. A node of the lattice sets one level for each attribute.
Classes of a more general node, or of fewer attributes, are unions of classes. So where merging
never breaks a requirement, what holds at a node holds above it (Generalization Property) and for
every subset of its attributes (Subset Property): the rest of the lattice need not be looked at.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from tclose.errors import DataError, InfeasibleError, PolicyError
from tclose.model.array_types import Int64

Node = tuple[int, ...]
Predicate = Callable[[Int64, Int64], NDArray[np.bool_]]

_MAX_NODES = 2**24  # of a lattice: a byte each
_MAX_KEY = 2**62


@dataclass(frozen=True, eq=False)
class ClassMembers:
    """Records class by class: ``order`` int64 (n,), class i from starts[i] to starts[i + 1]."""

    order: Int64
    starts: Int64

    @property
    def sizes(self) -> Int64:
        """Records of each class: int64 (c,)."""
        return np.diff(self.starts)


@dataclass(frozen=True, eq=False)
class Generalisation:
    """The result of the search: the chosen levels, and the minimal ones.

    ``minimal``: all nodes that meet the requirements and of which no less general one does,
    ascending. ``chosen``: one of them, with its ``classes``. ``n_checked``: nodes whose classes
    were tested, in the lattices of all subsets of the attributes.
    """

    minimal: tuple[Node, ...]
    chosen: Node
    classes: ClassMembers
    n_checked: int


@dataclass(frozen=True, eq=False)
class _Domain:
    """The input of the search: the distinct combinations of level-0 codes that occur.

    ``records``: which records each combination has. ``codes`` int64 (q, combinations). ``tables``:
    for each attribute its codes by level, from 0 up. ``each``: every combination a class.
    """

    records: ClassMembers
    codes: Int64
    tables: tuple[Int64, ...]
    each: ClassMembers

    def roll_up(self, finer: ClassMembers, attributes: Node, node: Node) -> ClassMembers:
        """Unions of classes of combinations: those of a node, from a less general one's."""
        first = finer.order[finer.starts[:-1]]  # any combination represents its class
        columns = [
            self.tables[a][level][self.codes[a][first]]
            for a, level in zip(attributes, node, strict=True)
        ]
        return _merge(finer, _combine(columns))

    def expand(self, classes: ClassMembers) -> ClassMembers:
        """Classes of combinations as classes of records."""
        order, ends = _line_up(self.records, classes.order)
        return ClassMembers(order, np.concatenate([[0], ends])[classes.starts])


def _merge(finer: ClassMembers, keys: Int64) -> ClassMembers:
    """Unions of the classes with the same key, ascending by key; ``keys`` int64 (c,)."""
    ranked = np.argsort(keys, kind="stable")
    order, ends = _line_up(finer, ranked)
    is_last = np.append(np.diff(keys[ranked]) != 0, True)
    return ClassMembers(order, np.concatenate([[0], ends[is_last]]))


def _line_up(classes: ClassMembers, ranked: Int64) -> tuple[Int64, Int64]:
    """Members of the classes in another sequence of these, and where each then ends."""
    sizes = classes.sizes[ranked]
    ends = np.cumsum(sizes)
    shifts = classes.starts[:-1][ranked] - (ends - sizes)
    return classes.order[np.arange(classes.order.size) + np.repeat(shifts, sizes)], ends


def _combine(columns: list[Int64]) -> Int64:
    """One key for each combination of codes, which are 0 or more; keys ascend as these do."""
    keys, span = columns[0], int(columns[0].max()) + 1
    for column in columns[1:]:
        n_codes = int(column.max()) + 1
        if span * n_codes > _MAX_KEY:
            distinct, keys = np.unique(keys, return_inverse=True)
            span = distinct.size
        keys, span = keys * n_codes + column, span * n_codes
    return keys


def find_generalisations(codes: Int64, tables: Sequence[Int64], holds: Predicate) -> Generalisation:
    """Search the lattices of all subsets of the attributes, smaller ones first.

    Of the minimal nodes the one of least loss is chosen, the sum of level / height over its
    attributes; of equal ones the one of least discernibility (sum of squared class sizes: Li et al.
    2007, section 6), then the first.

    Parameters
    ----------
    codes : int64 (q, n): level-0 codes of the quasi-identifiers
    tables : for each of them int64 (levels, n_values): what each level-0 code becomes at each level
    holds : takes records class by class, order int64 (n,) and starts int64 (c + 1,), and says which
        classes meet the requirements: bool (c,). A union of classes that do has to meet them too.

    Raises
    ------
    DataError
        No records.
    PolicyError
        Levels that are not nested, or more combinations of levels than can be searched.
    InfeasibleError
        Not even the most general node meets the requirements.
    """
    domain = _find_combinations(codes, _check_levels(codes, tables))
    attributes = tuple(range(len(tables)))
    smaller: dict[Node, NDArray[np.bool_]] = {(): np.ones((), dtype=np.bool_)}
    n_checked = 0
    for size in range(1, len(tables) + 1):
        met = {}
        for subset in combinations(attributes, size):
            candidates = _join(smaller, subset, domain)
            met[subset], n_tested = _search(domain, subset, candidates, holds)
            n_checked += n_tested
        smaller = met
    minimal = _find_minimal(smaller[attributes])
    if not minimal:
        raise InfeasibleError(
            "no generalisation of the quasi-identifiers meets the requirements, not even their "
            "highest levels; add levels that cover all values, or loosen k, l or t"
        )
    chosen, classes = _choose(domain, minimal)
    return Generalisation(minimal, chosen, classes, n_checked)


def check_combinations(n_levels: Sequence[int]) -> None:
    """Refuse attributes with so many levels that their combinations cannot be searched.

    Raises
    ------
    PolicyError
        Says how many there are, and can be.
    """
    n_nodes = prod(n_levels)
    if n_nodes > _MAX_NODES:
        raise PolicyError(
            f"method.name: incognito searches at most {_MAX_NODES:,} combinations of levels, the "
            f"quasi-identifiers have {n_nodes:,}; give them fewer levels, or take fewer of them"
        )


def _check_levels(codes: Int64, tables: Sequence[Int64]) -> tuple[Int64, ...]:
    """The tables with every level's codes made dense."""
    if not codes.size:
        raise DataError("no records, or no quasi-identifiers, to generalise; check the input")
    check_combinations([len(table) for table in tables])
    dense = []
    for number, (column, table) in enumerate(zip(codes, tables, strict=True), start=1):
        if column.min() < 0 or column.max() >= table.shape[1]:
            raise ValueError("level-0 codes have to be columns of their attribute's table")
        levels = np.array([np.unique(level, return_inverse=True)[1] for level in table])
        for i, (fine, coarse) in enumerate(pairwise(levels), start=1):
            n_pairs = np.unique(np.stack([fine, coarse]), axis=1).shape[1]
            if n_pairs > fine.max() + 1:
                raise PolicyError(
                    f"quasi-identifier {number}: level {i} parts values that level {i - 1} has as "
                    "one; levels have to be unions of those below"
                )
        dense.append(levels)
    return tuple(dense)


def _find_combinations(codes: Int64, tables: tuple[Int64, ...]) -> _Domain:
    """The combinations that occur, and which records have each."""
    n_records = codes.shape[1]
    alone = ClassMembers(np.arange(n_records), np.arange(n_records + 1))
    columns = [table[0][column] for table, column in zip(tables, codes, strict=True)]
    records = _merge(alone, _combine(columns))
    n = records.sizes.size
    each = ClassMembers(np.arange(n), np.arange(n + 1))
    return _Domain(records, codes[:, records.order[records.starts[:-1]]], tables, each)


def _join(
    smaller: dict[Node, NDArray[np.bool_]], subset: Node, domain: _Domain
) -> NDArray[np.bool_]:
    """Nodes of a subset whose parts without one attribute all hold: LeFevre et al., section 3.

    bool, one axis of levels for each attribute.
    """
    candidates = np.ones([len(domain.tables[a]) for a in subset], dtype=np.bool_)
    for axis in range(len(subset)):
        part = subset[:axis] + subset[axis + 1 :]
        candidates &= np.expand_dims(smaller[part], axis)
    return candidates


def _search(
    domain: _Domain, subset: Node, candidates: NDArray[np.bool_], holds: Predicate
) -> tuple[NDArray[np.bool_], int]:
    """Find the candidates that meet the requirements, breadth-first, and count those tested.

    Of the nodes that failed, those one step less general are kept: their classes are rolled up.
    """
    met = np.zeros_like(candidates)
    nodes = np.argwhere(candidates)
    nodes = nodes[np.argsort(nodes.sum(axis=1), kind="stable")]
    base = None
    failed: dict[Node, ClassMembers] = {}
    below: dict[Node, ClassMembers] = {}
    height, n_tested = -1, 0
    for node in map(tuple, nodes.tolist()):
        if met[node]:
            continue
        if sum(node) > height:
            height, below, failed = sum(node), failed, {}
        base = base or domain.roll_up(domain.each, subset, (0,) * len(subset))
        finer = [below[f] for f in _less_general(node) if f in below]
        start = min(finer, key=lambda classes: classes.starts.size, default=base)
        classes = domain.roll_up(start, subset, node)
        n_tested += 1
        if _all_hold(holds, domain.expand(classes)):
            met[tuple(slice(level, None) for level in node)] = True
        else:
            failed[node] = classes
    return met, n_tested


def _less_general(node: Node) -> list[Node]:
    """The nodes one step below."""
    return [(*node[:a], node[a] - 1, *node[a + 1 :]) for a in range(len(node)) if node[a]]


def _all_hold(holds: Predicate, classes: ClassMembers) -> bool:
    """Return whether every class holds; a result of another shape proves nothing."""
    answer = holds(classes.order, classes.starts)
    if answer.dtype != np.bool_ or answer.shape != classes.sizes.shape:
        raise ValueError("the predicate has to answer with one bool for each class")
    return bool(answer.all())


def _find_minimal(met: NDArray[np.bool_]) -> tuple[Node, ...]:
    """Nodes that hold while none one step below does, ascending."""
    nodes = map(tuple, np.argwhere(met).tolist())
    return tuple(node for node in nodes if not any(met[f] for f in _less_general(node)))


def _choose(domain: _Domain, minimal: tuple[Node, ...]) -> tuple[Node, ClassMembers]:
    """The minimal node of least loss, then of least discernibility, then the first; exact."""
    heights = [max(1, len(table) - 1) for table in domain.tables]
    totals = [
        sum(Fraction(level, height) for level, height in zip(node, heights, strict=True))
        for node in minimal
    ]
    attributes = tuple(range(len(domain.tables)))
    best: tuple[int, Node, ClassMembers] | None = None
    for node, total in zip(minimal, totals, strict=True):
        if total > min(totals):
            continue
        classes = domain.expand(domain.roll_up(domain.each, attributes, node))
        discernibility = int((classes.sizes**2).sum())
        if best is None or discernibility < best[0]:
            best = discernibility, node, classes
    assert best is not None
    return best[1:]
