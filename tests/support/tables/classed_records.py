"""Random records in classes, as refinement takes them, and blocks made of them.

Numeric quasi-identifiers are multiples of 1/64, of confidential attributes there are none to three:
of few values, of one, of one that rules, or of mostly distinct ones, ordered; or nominal, of equal
or hierarchical distance over any tree. The table has records besides.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.naive import naive_taxonomy
from support.naive.naive_taxonomy import Tree
from support.tables.random_tables import distribution_of, seeds, weighted_columns
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.ordered_delta import compute_record_terms, table_sums
from tclose.kernels.refinement.block import SPARE, Block, gather_block
from tclose.model.array_types import Float64, Int64
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Distance, Kind, Role
from tclose.model.distribution import Distribution, make_distribution
from tclose.passes.plan.search_budget import MAX_SEARCHED
from tclose.privacy.t_closeness import class_distances, stack_trees, with_metric

# What the code takes a distance to err by at most: `make_refiners.make_refiner`.
MARGIN = ERROR_PER_STEP * (2 * MAX_SEARCHED)


@dataclass(frozen=True, eq=False)
class Ground:
    """A tree, the leaf that is each code, and whether its heights count or all are equally far."""

    tree: Tree
    leaves: tuple[str, ...]
    distance: Distance

    def measure(self, table: Distribution) -> Distribution:
        """A distribution over the codes with the metric of the tree."""
        rows = tuple(tuple(row) for row in naive_taxonomy.to_rows(self.tree))
        attribute = Attribute("c", Role.CONFIDENTIAL, distance=self.distance, taxonomy=rows)
        return with_metric(table, Column(attribute, Kind.NOMINAL, pa.string()), self.leaves)

    def emd(self, members: Iterable[int], table: Distribution) -> Fraction:
        """Distance of a class, by the definition."""
        names = [self.leaves[code] for code in members]
        in_table = dict(zip(self.leaves, table.counts.tolist(), strict=True))
        if self.distance is Distance.EQUAL:
            return naive_taxonomy.equal_emd(names, in_table)
        return naive_taxonomy.hierarchical_emd(self.tree, names, in_table)


@dataclass(frozen=True, eq=False)
class ClassedRecords:
    """Quasi-identifiers (d, n) and (q, n); codes (p, n) in tables; limits float (p,); classes.

    ``grounds``: of each attribute what its values are leaves of, None where these are ordered; none
    at all where all are.
    """

    numeric: Float64
    nominal: np.ndarray
    n_levels: int
    codes: Int64
    tables: tuple[Distribution, ...]
    limits: tuple[float, ...]
    labels: Int64
    k: int
    grounds: tuple[Ground | None, ...] = ()
    weights: Float64 | None = None

    @property
    def column_weights(self) -> Float64:
        """Weights of the nominal columns; 1 each where none are given."""
        return np.ones(len(self.nominal)) if self.weights is None else self.weights

    @property
    def ordered(self) -> list[int]:
        """Attributes whose values have an order, as blocks number them."""
        return [a for a, table in enumerate(self.tables) if table.metric is None]

    @property
    def nominal_ones(self) -> list[int]:
        """Attributes whose values are leaves of a tree, as blocks number them."""
        return [a for a, table in enumerate(self.tables) if table.metric is not None]

    @property
    def n_records(self) -> int:
        return self.labels.size

    @property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def classes(self) -> list[list[int]]:
        """Rows of each class."""
        return naive.groups(self.labels)

    def emd(self, attribute: int, rows: Iterable[int]) -> Fraction:
        """Distance of a class to the table, of one confidential attribute, by the definition."""
        table = self.tables[attribute]
        codes = self.codes[attribute][list(rows)].tolist()
        ground = self.grounds[attribute] if self.grounds else None
        if ground is not None:
            return ground.emd(codes, table)
        return naive.ordered_emd(codes, dict(enumerate(table.counts.tolist())))

    @property
    def max_emds(self) -> tuple[Fraction, ...]:
        """The t that the limits are a margin below, in hundredths."""
        return tuple(Fraction(round(limit * 100), 100) for limit in self.limits)

    def with_limits(self, *limits: float) -> "ClassedRecords":
        return replace(self, limits=limits)

    def arrays(self) -> tuple[Any, ...]:
        """Return the arguments of `gather_block`; without ordered attributes one of distance 0."""
        largest = int(np.bincount(self.labels).max()) + SPARE + 1
        held = [(self.codes[a], self.tables[a], self.limits[a]) for a in range(len(self.tables))]
        ordered = [held[a] for a in self.ordered]
        ordered = ordered or [(codes, table, np.inf) for codes, table, _ in held[:1]]
        record_terms = [
            compute_record_terms(codes, t.cumulative, t.prefix) for codes, t, _ in ordered
        ]
        sums = [table_sums(t.cumulative, t.prefix, largest) for _, t, _ in ordered]
        if not ordered:
            record_terms = [np.zeros((self.n_records, 3))]
            sums = [np.zeros((largest + 1) * (largest + 2) // 2)]
        return (
            np.ascontiguousarray(self.numeric.T),
            np.ascontiguousarray(self.nominal.T),
            self.column_weights,
            np.array(record_terms),
            np.array(sums),
            np.array([limit for _, _, limit in ordered] or [1.0]),
            stack_trees([held[a] for a in self.nominal_ones], self.n_records),
            np.empty(0, dtype=np.int64),
            len(record_terms),
        )

    def gather(self, classes: list[int] | None = None) -> tuple[Block, Int64]:
        """A block of some classes, all if none are named, and the rows of its records."""
        chosen = np.arange(self.n_classes) if classes is None else np.array(classes, np.int64)
        return cast(
            tuple[Block, Int64],
            gather_block(self.arrays(), group_by_label(self.labels, self.n_classes), chosen),
        )


def draw_values(rng: np.random.Generator, style: str, size: int) -> np.ndarray:
    """Values of a confidential attribute."""
    if style == "few":
        return rng.integers(0, 5, size)
    if style == "one":
        return np.zeros(size, np.int64)
    if style == "rules":
        return rng.choice([0] * 9 + [1, 7], size)
    return rng.integers(-(10**6), 10**6, size)


def draw_percent(
    rng: np.random.Generator, tight: int, labels: Int64, codes: Int64, table: Distribution
) -> int:
    """A limit in hundredths: anywhere, or where all classes, or half, are just within it."""
    order, starts = group_by_label(labels, int(labels.max()) + 1)
    emds = np.sort(class_distances(codes[order], starts, table))
    if tight == 0:
        return int(rng.integers(0, 41))
    return min(100, int(np.ceil(100 * emds[emds.size // 2 if tight == 1 else -1])))


def star_over(n_values: int) -> Ground:
    """Values that are all equally far from each other."""
    leaves = tuple(f"v{i}" for i in range(n_values))
    return Ground(("any", list(leaves)), leaves, Distance.EQUAL)


def ground_over(tree: Tree) -> Ground:
    """All leaves of a tree, in its order."""
    return Ground(tree, tuple(naive_taxonomy.leaves(tree)), Distance.HIERARCHICAL)


styles = st.sampled_from(["few", "few", "one", "rules", "rules", "distinct", "distinct"])
trees = st.one_of(naive_taxonomy.trees(), naive_taxonomy.trees(2))
grounds = st.one_of(st.integers(1, 6).map(star_over), trees.map(ground_over))
mixed = st.one_of(styles, styles, grounds)
two_to_six = st.integers(2, 6)


def draw_attribute(
    rng: np.random.Generator, style: str | Ground, n_records: int
) -> tuple[Distribution, Int64, Ground | None]:
    """The table of so many records with ordered or nominal values, and the code of each.

    Nominal values are some of the leaves, common or rare; they stand in any order, as where subsets
    follow how common they are.
    """
    if isinstance(style, str):
        return *distribution_of(draw_values(rng, style, n_records)), None
    weights = rng.dirichlet(np.full(len(style.leaves), rng.choice([0.3, 3.0])))
    drawn = rng.choice(len(style.leaves), n_records, p=weights)
    present = rng.permutation(np.unique(drawn))
    ground = replace(style, leaves=tuple(style.leaves[leaf] for leaf in present))
    codes = np.argsort(present)[np.searchsorted(np.sort(present), drawn)]
    table = make_distribution(np.arange(present.size), np.bincount(codes))
    return ground.measure(table), codes, ground


@st.composite
def classed_records(
    draw: st.DrawFn,
    *,
    n_classes: st.SearchStrategy[int] = two_to_six,
    max_size: int = 7,
    max_attributes: int = 3,
    attributes: st.SearchStrategy[str | Ground] = mixed,
) -> ClassedRecords:
    """Classes of k records and more, of any mixture of attributes; some within their limits."""
    k = draw(st.integers(1, 4))
    n_drawn = draw(n_classes)
    sizes = draw(st.lists(st.integers(k, max_size), min_size=n_drawn, max_size=n_drawn))
    columns = draw(weighted_columns(sum(sizes)))
    drawn = draw(st.lists(attributes, max_size=max_attributes))
    tightness = draw(st.lists(st.integers(0, 3), min_size=len(drawn), max_size=len(drawn)))
    n_besides = draw(st.integers(0, 12))
    rng = np.random.default_rng(draw(seeds))
    n_records = sum(sizes)
    labels = rng.permutation(np.repeat(np.arange(n_drawn), sizes))
    made = [draw_attribute(rng, one, n_records + n_besides) for one in drawn]
    percents = [
        draw_percent(rng, tight, labels, codes[:n_records], table)
        for tight, (table, codes, _) in zip(tightness, made, strict=True)
    ]
    return ClassedRecords(
        columns.numeric,
        columns.nominal,
        columns.n_levels,
        np.array([codes[:n_records] for _, codes, _ in made], np.int64).reshape(-1, n_records),
        tuple(table for table, _, _ in made),
        tuple(percent / 100 - MARGIN for percent in percents),
        labels,
        k,
        tuple(ground for _, _, ground in made),
        columns.weights,
    )


def classes_of(block: Block, rows: Int64) -> list[list[int]]:
    """Rows of each class of a block, by the members of its first attribute."""
    return [sorted(rows[block.members[0, c, :size]].tolist()) for c, size in enumerate(block.sizes)]


def relabel(records: ClassedRecords, classes: list[list[int]]) -> ClassedRecords:
    """The same records in other classes."""
    labels = np.empty(records.n_records, np.int64)
    for c, rows in enumerate(classes):
        labels[rows] = c
    return replace(records, labels=labels)


def check_state(block: Block, rows: Int64, records: ClassedRecords) -> None:
    """A block of all classes is in every respect as if it were gathered anew."""
    new, new_rows = relabel(records, classes_of(block, rows)).gather()
    assert block.sizes.tolist() == new.sizes.tolist()
    for a in range(block.members.shape[0]):
        for c, size in enumerate(block.sizes):
            members, z = block.members[a, c, :size], block.record_terms[a, :, 0]
            assert (np.diff(z[members]) >= 0).all()
            assert block.ranks[a, members].tolist() == list(range(size))
            assert set(rows[members]) == set(new_rows[new.members[a, c, :size]])
            np.testing.assert_allclose(
                block.rank_terms[a, c, :, : size + 1],
                new.rank_terms[a, c, :, : size + 1],
                rtol=0,
                atol=MARGIN,
            )
    np.testing.assert_allclose(block.totals, new.totals, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(block.counts, new.counts)
    np.testing.assert_array_equal(block.squares, new.squares)
    np.testing.assert_array_equal(block.alike, new.alike)
    np.testing.assert_array_equal(block.below, new.below)
    np.testing.assert_array_equal(block.tree_sums, new.tree_sums)
    np.testing.assert_allclose(block.excess, new.excess, rtol=0, atol=MARGIN)
    for name in ("means", "leaving", "joining", "reach"):
        there, anew = getattr(block.lanes, name), getattr(new.lanes, name)
        np.testing.assert_allclose(there, anew, rtol=1e-5, atol=1e-5)
