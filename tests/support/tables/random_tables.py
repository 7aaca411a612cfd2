"""Small random tables for property tests, and the shapes that kernels take them in.

Numeric quasi-identifiers are multiples of 1/64: their sums and squared distances are exact, so a
kernel and its twin meet the same ties.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from support.length import FULL, count
from tclose.kernels.clustering.blocks import cut_blocks
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import Distribution, make_distribution

# The same few examples each time; at length many, which nobody has tried before. How long one takes
# depends on the machine, and the first one compiles: neither is held against a test.
repeatable = settings(
    derandomize=not FULL,
    deadline=None,
    database=None,
    print_blob=True,
    max_examples=count(10, 200),
    suppress_health_check=[HealthCheck.too_slow],
)

seeds = st.integers(0, 2**32 - 1)


@dataclass(frozen=True, eq=False)
class RegionTable:
    """Records subset by subset, as `cut_blocks` and `cluster_block` take them."""

    numeric: Float64
    nominal: np.ndarray
    n_levels: int
    subset_starts: Int64
    take: Int64
    extras: Int64
    n_clusters: int
    weights: Float64
    heights: Int64

    @property
    def n_records(self) -> int:
        """Records of all subsets."""
        return int(self.subset_starts[-1])

    @property
    def subsets(self) -> list[int]:
        """Subset of each record."""
        return np.repeat(np.arange(self.take.size), np.diff(self.subset_starts)).tolist()

    @property
    def rows(self) -> list[list[int]]:
        """Records of each subset."""
        ends = self.subset_starts.tolist()
        return [list(range(a, b)) for a, b in pairwise(ends)]


def cut_region(region: RegionTable, block_clusters: int) -> tuple[Int64, Int64, Int64]:
    """Its blocks, whatever cells its records are in: `cut_blocks`."""
    cells = np.zeros(region.n_records, dtype=np.int64)
    columns = region.numeric, region.nominal, region.weights, region.heights, region.n_levels
    return cast(
        tuple[Int64, Int64, Int64],
        cut_blocks(
            *columns, cells, region.subset_starts, region.take, region.n_clusters, block_clusters
        ),
    )


@st.composite
def regions(
    draw: st.DrawFn, *, max_clusters: int = 8, min_subsets: int = 1, max_extras: int = 2**62
) -> RegionTable:
    """Regions with even and odd numbers of subsets, extras or none, ties or few, any mixture."""
    n_subsets = draw(st.integers(min_subsets, 7))
    n_clusters = draw(st.integers(1, max_clusters))
    take = np.ones(n_subsets, np.int64)
    if n_subsets == 1:
        take[0] = draw(st.integers(1, 5))
    central = sorted({(n_subsets - 1) // 2, n_subsets // 2})
    extras = np.zeros(n_subsets, np.int64)
    n_extra = draw(st.integers(0, min(n_clusters, max_extras)))
    extras[central[0]] = draw(st.integers(0, n_extra)) if len(central) > 1 else n_extra
    extras[central[-1]] += n_extra - extras.sum()
    starts = np.concatenate([[0], np.cumsum(n_clusters * take + extras)]).astype(np.int64)
    columns = draw(weighted_columns(int(starts[-1])))
    return RegionTable(
        columns.numeric, columns.nominal, columns.n_levels, starts, take, extras, n_clusters,
        columns.weights, columns.heights,
    )  # fmt: skip


@st.composite
def quasi_identifiers(draw: st.DrawFn, n_records: int) -> tuple[Float64, np.ndarray, int]:
    """Numeric (d, n), nominal (q, n) and the number of categories; d + q is at least one."""
    n_numeric, n_nominal = draw(
        st.tuples(st.integers(0, 3), st.integers(0, 2)).filter(lambda pair: sum(pair) > 0)
    )
    n_values, n_levels = draw(st.integers(1, 65)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(seeds))
    numeric = rng.integers(0, n_values, (n_numeric, n_records)) / 64
    nominal = rng.integers(0, n_levels, (n_nominal, n_records), dtype=np.int32)
    return numeric, nominal, n_levels


@st.composite
def weighted_columns(draw: st.DrawFn, n_records: int) -> Scaled:
    """The same, where a nominal one may have a weight, and a taxonomy: codes are halved by levels.

    Weights and heights are powers of two, so that sums are exact.
    """
    numeric, nominal, n_levels = draw(quasi_identifiers(n_records))
    height = st.sampled_from([1, 1, 2, 4])
    heights = draw(st.lists(height, min_size=len(nominal), max_size=len(nominal)))
    columns = [row >> level for row, h in zip(nominal, heights, strict=True) for level in range(h)]
    weight = st.sampled_from([1, 1, 0.5, 2])
    own = draw(st.lists(weight, min_size=len(nominal), max_size=len(nominal)))
    weights = [w / h for w, h in zip(own, heights, strict=True) for _ in range(h)]
    columns_of = [h for h in heights for _ in range(h)]
    stacked = np.array(columns, dtype=np.int32).reshape(len(columns), n_records)
    return Scaled(
        numeric, stacked, n_levels, np.array(weights, dtype=np.float64),
        np.array(columns_of, dtype=np.int64),
    )  # fmt: skip


def unweighted(numeric: Float64, nominal: np.ndarray | None = None, n_levels: int = 1) -> Scaled:
    """Numeric columns, and nominal ones that all have a weight of 1."""
    if nominal is None:
        nominal = np.empty((0, numeric.shape[1]), dtype=np.int32)
    n_nominal = len(nominal)
    return Scaled(numeric, nominal, n_levels, np.ones(n_nominal), np.ones(n_nominal, np.int64))


# Values of a confidential attribute: few distinct ones, or most of them distinct, or one rules.
confidential_values = st.one_of(
    st.lists(st.integers(0, 4), min_size=1, max_size=60),
    st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=60),
    st.lists(st.sampled_from([0] * 9 + [1, 7]), min_size=1, max_size=60),
)


def distribution_of(values: Sequence[Any] | np.ndarray) -> tuple[Distribution, Int64]:
    """Distribution of a table's values and each record's place in it: int64 (n,)."""
    distinct, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return make_distribution(distinct, counts), codes.astype(np.int64)


def starts_of(sizes: Sequence[int] | np.ndarray) -> Int64:
    """Return the starts of classes of these sizes, and the end: int64 (c + 1,)."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


@st.composite
def class_sizes(draw: st.DrawFn, n_records: int) -> list[int]:
    """Sizes of classes, each at least one, that make up ``n_records``."""
    cuts = draw(st.sets(st.integers(1, max(1, n_records - 1)), max_size=8))
    ends = [0, *sorted(cut for cut in cuts if cut < n_records), n_records]
    return np.diff(ends).tolist()
