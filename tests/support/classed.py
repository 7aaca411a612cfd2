"""Random records in classes, as refinement takes them, and blocks made of them.

Numeric quasi-identifiers are multiples of 1/64, of confidential attributes there are none to three:
of few values, of one, of one that rules, or of mostly distinct ones. The table has records besides.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from pipeline.kernels.aggregate import group_by_label
from pipeline.kernels.block import SPARE, Block, gather_block
from pipeline.kernels.budget import place_records, table_sums
from pipeline.kernels.emd import ERROR_PER_STEP, class_emds
from pipeline.model import Distribution, Float64, Int64
from pipeline.stages.refine import MAX_SEARCHED
from support import naive
from support.tables import distribution_of, quasi_identifiers, seeds

# What the code takes a distance to err by at most: `pipeline.stages.refine.make_refiner`.
MARGIN = ERROR_PER_STEP * (2 * MAX_SEARCHED)


@dataclass(frozen=True, eq=False)
class ClassedRecords:
    """Quasi-identifiers (d, n) and (q, n); codes (p, n) in tables; limits float (p,); classes."""

    numeric: Float64
    nominal: np.ndarray
    n_levels: int
    codes: Int64
    tables: tuple[Distribution, ...]
    limits: tuple[float, ...]
    labels: Int64
    k: int

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

    @property
    def max_emds(self) -> tuple[Fraction, ...]:
        """The t that the limits are a margin below, in hundredths."""
        return tuple(Fraction(round(limit * 100), 100) for limit in self.limits)

    def with_limits(self, *limits: float) -> "ClassedRecords":
        return replace(self, limits=limits)

    def arrays(self) -> tuple[Float64, np.ndarray, Float64, Float64, Float64]:
        """What `gather_block` takes; without attributes one on which all is at distance zero."""
        largest = int(np.bincount(self.labels).max()) + SPARE + 1
        pairs = list(zip(self.codes, self.tables, strict=True))
        places = [place_records(codes, t.cumulative, t.prefix) for codes, t in pairs]
        sums = [table_sums(t.cumulative, t.prefix, largest) for t in self.tables]
        if not pairs:
            places = [np.zeros((self.n_records, 3))]
            sums = [np.zeros((largest + 1) * (largest + 2) // 2)]
        return (
            np.ascontiguousarray(self.numeric.T),
            np.ascontiguousarray(self.nominal.T),
            np.array(places),
            np.array(sums),
            np.array(self.limits) if self.limits else np.ones(1),
        )

    def gather(self, classes: list[int] | None = None) -> tuple[Block, Int64]:
        """A block of some classes, all if none are named, and the rows of its records."""
        chosen = np.arange(self.n_classes) if classes is None else np.array(classes, np.int64)
        return gather_block(self.arrays(), group_by_label(self.labels, self.n_classes), chosen)


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
    emds = np.sort(class_emds(codes[order], starts, table.cumulative, table.prefix))
    if tight == 0:
        return int(rng.integers(0, 41))
    return min(100, int(np.ceil(100 * emds[emds.size // 2 if tight == 1 else -1])))


styles = st.sampled_from(["few", "few", "one", "rules", "rules", "distinct", "distinct"])


two_to_six = st.integers(2, 6)


@st.composite
def classed_records(
    draw: st.DrawFn,
    *,
    n_classes: st.SearchStrategy[int] = two_to_six,
    max_size: int = 7,
    max_attributes: int = 3,
) -> ClassedRecords:
    """Classes of k records and more, of any mixture of attributes; some within their limits."""
    k = draw(st.integers(1, 4))
    n_drawn = draw(n_classes)
    sizes = draw(st.lists(st.integers(k, max_size), min_size=n_drawn, max_size=n_drawn))
    numeric, nominal, n_levels = draw(quasi_identifiers(sum(sizes)))
    drawn = draw(st.lists(styles, max_size=max_attributes))
    tightness = draw(st.lists(st.integers(0, 3), min_size=len(drawn), max_size=len(drawn)))
    n_besides = draw(st.integers(0, 12))
    rng = np.random.default_rng(draw(seeds))
    n_records = sum(sizes)
    labels = rng.permutation(np.repeat(np.arange(n_drawn), sizes))
    pairs = [distribution_of(draw_values(rng, s, n_records + n_besides)) for s in drawn]
    percents = [
        draw_percent(rng, tight, labels, codes[:n_records], table)
        for tight, (table, codes) in zip(tightness, pairs, strict=True)
    ]
    return ClassedRecords(
        numeric,
        nominal,
        n_levels,
        np.array([codes[:n_records] for _, codes in pairs], np.int64).reshape(-1, n_records),
        tuple(table for table, _ in pairs),
        tuple(percent / 100 - MARGIN for percent in percents),
        labels,
        k,
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
            members, z = block.members[a, c, :size], block.places[a, :, 0]
            assert (np.diff(z[members]) >= 0).all()
            assert block.ranks[a, members].tolist() == list(range(size))
            assert set(rows[members]) == set(new_rows[new.members[a, c, :size]])
            np.testing.assert_allclose(
                block.ladders[a, c, :, : size + 1],
                new.ladders[a, c, :, : size + 1],
                rtol=0,
                atol=MARGIN,
            )
    np.testing.assert_allclose(block.totals, new.totals, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(block.counts, new.counts)
    np.testing.assert_array_equal(block.squares, new.squares)
    np.testing.assert_allclose(block.excess, new.excess, rtol=0, atol=MARGIN)
