"""The plan: what will be done with each release partition, and proofs of what is infeasible.

A *release partition* is a set of records that must not mix with others: the records of one
combination of partition values (`output.partition_by` columns that are released as they are).
Without such columns the whole table is the one release partition. Subsets are global within a
release partition.
"""

import hashlib
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.formats.format_registry import DEFAULT_FORMAT
from tclose.data.formats.output_format import OutputFormat
from tclose.data.keys import Encoding
from tclose.data.widths import NO_WIDTHS, WIDE_RECORD, PassthroughWidths
from tclose.methods.generalisation.value_buckets import Bucketing
from tclose.methods.method import Method
from tclose.model.array_types import Int64
from tclose.model.attributes import Column
from tclose.passes.persons.person_numbers import PersonCounts
from tclose.passes.plan.class_sizes import ClassSize
from tclose.passes.plan.coarse_tree import CoarseTree
from tclose.passes.plan.quantile_subsets import NO_CELLS, Cells, Subsets
from tclose.passes.plan.search_budget import OFF, SearchBudget
from tclose.passes.plan.size_bounds import SizeBound
from tclose.privacy.bound_models import NO_MODELS, PrivacyModels
from tclose.runtime.artifacts.artifacts import Artifact


@dataclass(frozen=True)
class UnitRegions:
    """Regions of a later release of a series, which persons who stay together are in together.

    ``first_units``: the first unit of each; ``n_new``: regions of newcomers, who are in no unit;
    0 if they are too few for one, and in the last region of units; ``newcomers``: how many they
    are.
    """

    first_units: tuple[int, ...]
    n_new: int
    newcomers: int = 0

    @property
    def n_regions(self) -> int:
        """All regions."""
        return len(self.first_units) + self.n_new

    def find(self, units: Int64, leaves: NDArray[np.int32], n_leaves: int) -> Int64:
        """Region of each record: int64 (n,).

        Parameters
        ----------
        units : int64 (n,), -1 of newcomers
        leaves : int32 (n,), of ``n_leaves``
        """
        n_units = len(self.first_units)
        regions = np.searchsorted(self.first_units, units, side="right").astype(np.int64) - 1
        of_new = n_units + leaves.astype(np.int64) * self.n_new // n_leaves
        regions[units < 0] = of_new[units < 0] if self.n_new else n_units - 1
        return regions


@dataclass(frozen=True, eq=False)
class ReleasePartition:
    """The plan for the records of one release partition.

    ``unit_regions``: of a later release of a series, whose regions are not cut by ranks.
    """

    key: tuple[Any, ...]
    partition_codes: tuple[int, ...]
    n_records: int
    class_size: ClassSize
    n_clusters: int
    n_regions: int
    emds: tuple[Fraction, ...]
    subsets: Subsets
    tree: CoarseTree
    first_bin: int
    cells: Cells = NO_CELLS
    bound: SizeBound | None = None
    unit_regions: UnitRegions | None = None

    @property
    def n_places(self) -> int:
        """Places that the records of a subset and cell are counted in: leaves, or regions."""
        return self.tree.n_leaves if self.unit_regions is None else self.unit_regions.n_regions

    @property
    def n_grown(self) -> int:
        """Regions that are cut by a tree."""
        return self.n_regions if self.unit_regions is None else self.unit_regions.n_new

    @property
    def n_bins(self) -> int:
        """Bins of (subset, cell, place) that its records are counted in."""
        return self.subsets.sizes.size * self.cells.n_cells * self.n_places


@dataclass(frozen=True)
class Region:
    """A range of a release partition's clusters that one task makes.

    Of unit regions it is a range of these.
    """

    release_partition: int
    first_cluster: int
    last_cluster: int

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.release_partition:05d}-{self.first_cluster:012d}-{self.last_cluster:012d}"

    @property
    def n_clusters(self) -> int:
        """Clusters in it."""
        return self.last_cluster - self.first_cluster


@dataclass(frozen=True, eq=False)
class Plan:
    """The decisions that the passes follow; equal input, policy and seed give an equal plan.

    ``n_nodes``: of the trees over confidential values that have no order, ``tree_depth``: nodes
    above a value in all of them; they decide how much memory a search takes. ``widths``: of the
    pass-through columns. ``persons``: whom several records may be of; None: each has its own.
    ``keeps_persons``: whether all records of one are in one class.
    """

    k: int
    max_emds: tuple[Fraction, ...]
    encodings: tuple[Encoding, ...]
    confidential: tuple[Encoding, ...]
    passthrough: tuple[Column, ...]
    partition_columns: tuple[Encoding, ...]
    partition_by: tuple[str, ...]
    released: tuple[str, ...]
    subset_attribute: int
    release_partitions: tuple[ReleasePartition, ...]
    block_clusters: int
    rows_per_file: int
    output_format: OutputFormat = field(
        default_factory=lambda: OutputFormat.model_validate(DEFAULT_FORMAT)
    )
    search_budget: SearchBudget = OFF
    seed: int = 1
    method: Method = field(default_factory=lambda: Method.model_validate({}))
    bucketing: Bucketing | None = None
    privacy_models: PrivacyModels = NO_MODELS
    n_nodes: int = 0
    tree_depth: int = 0
    widths: PassthroughWidths = NO_WIDTHS
    persons: PersonCounts | None = None
    keeps_persons: bool = False

    @property
    def referenced(self) -> tuple[int, ...]:
        """Return the indices of the pass-through columns that stay in their files until release.

        Of wide records these are all but those that noise was drawn for; of others none, because
        reading a record together with its codes is then faster.
        """
        if self.widths.per_record <= WIDE_RECORD:
            return ()
        return tuple(i for i, c in enumerate(self.passthrough) if c.attribute.noise is None)

    @property
    def along(self) -> tuple[int, ...]:
        """Return the indices of the pass-through columns that go along with the records."""
        return tuple(i for i in range(len(self.passthrough)) if i not in self.referenced)

    @property
    def n_released(self) -> int:
        """Confidential attributes that are released; the joint ones come after them."""
        return sum(not e.column.is_joint for e in self.confidential)

    @property
    def verification_limits(self) -> tuple[Fraction, ...]:
        """The t that each confidential attribute is held to; classes may be made for less."""
        limits = [e.column.attribute.max_emd for e in self.confidential]
        return tuple(Fraction(1) if limit is None else limit for limit in limits)

    @property
    def bucket_of(self) -> Int64 | None:
        """Bucket of each confidential value, where classes are made by them and it is released."""
        if self.bucketing is None or self.method.releases_buckets:
            return None
        return self.bucketing.of_code

    @property
    def epsilons(self) -> dict[str, Fraction]:
        """Epsilon of each column that noise is drawn for."""
        noise = {column.name: column.attribute.noise for column in self.passthrough}
        return {name: of.epsilon for name, of in noise.items() if of is not None}

    @cached_property
    def n_records(self) -> int:
        """Records that the release has to hold."""
        return sum(release_partition.n_records for release_partition in self.release_partitions)

    @property
    def n_clustered(self) -> int:
        """Records that classes are made of: all, or of a later release of a series newcomers."""
        regions = [one.unit_regions for one in self.release_partitions]
        return sum(one.newcomers for one in regions if one) if all(regions) else self.n_records

    @cached_property
    def n_bins(self) -> int:
        """Bins of all release partitions."""
        return sum(release_partition.n_bins for release_partition in self.release_partitions)

    def regions(self) -> tuple[Region, ...]:
        """The tasks of microaggregation."""
        regions = []
        for d, release_partition in enumerate(self.release_partitions):
            g, r = (
                release_partition.n_clusters,
                min(release_partition.n_regions, release_partition.n_clusters),
            )
            if release_partition.unit_regions is not None:
                g = r = release_partition.n_regions
            cuts = [g * i // r for i in range(r + 1)]
            regions += [Region(d, a, b) for a, b in pairwise(cuts)]
        return tuple(regions)

    def digest(self) -> str:
        """SHA-256 over all values of the plan."""
        digest = hashlib.sha256()
        _feed(digest, self)
        return digest.hexdigest()


PLAN = Artifact("plan", Plan, version=5)
DRAFT_PLAN = Artifact("draft-plan", Plan, version=5)  # before its coarse trees are grown
# Fields that came later: with their defaults a plan has the digest that it had without them.
_LATER = frozenset({"keeps_persons", "unit_regions", "has_bands"})


def _feed(digest: Any, value: Any) -> None:
    if is_dataclass(value) and not isinstance(value, type):
        for name in fields(value):
            if name.name in _LATER and getattr(value, name.name) == name.default:
                continue
            digest.update(f"{name.name}:".encode())
            _feed(digest, getattr(value, name.name))
    elif isinstance(value, np.ndarray):
        digest.update(
            f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
        )
    elif isinstance(value, pa.Array):
        digest.update(repr((value.type, value.to_pylist())).encode())
    elif isinstance(value, tuple | list):
        digest.update(f"[{len(value)}".encode())
        for item in value:
            _feed(digest, item)
    else:
        digest.update(f"{value!r};".encode())


def partition_name(partition_columns: tuple[Encoding, ...], key: tuple[Any, ...]) -> str:
    """Return a release partition's name in messages: its partition columns and their values."""
    if not partition_columns:
        return "the table"
    pairs = (f"{e.column.name}={value}" for e, value in zip(partition_columns, key, strict=True))
    return "partition " + "/".join(pairs)
