"""The release partitions of a plan: proved feasible, then cut into subsets and cells."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import pyarrow as pa

from tclose.model.column_terms import Distance
from tclose.model.distribution import Distribution
from tclose.passes.plan.class_sizes import (
    ClassSize,
    choose_class_size,
    fit_class_size,
    surely_within,
    take_class_size,
    wanted_size,
)
from tclose.passes.plan.coarse_tree import count_regions, one_leaf
from tclose.passes.plan.feasibility import (
    PartitionDistributions,
    check_feasible,
    check_models_feasible,
)
from tclose.passes.plan.partition_counts import Key, PartitionValueCounts
from tclose.passes.plan.plan import Plan, ReleasePartition, partition_name
from tclose.passes.plan.plan_files import load_distributions
from tclose.passes.plan.quantile_subsets import NO_CELLS, Cells, cut_cells, cut_subsets
from tclose.passes.plan.size_bounds import SizeBound, bound_size, check_two_classes
from tclose.passes.summarise.input_summary import InputSummary
from tclose.policy.policy import Policy
from tclose.privacy.t_closeness import partition_distance
from tclose.runtime.artifacts.artifacts import Workspace


@dataclass(frozen=True)
class _Draft:
    """A release partition's distances to the table, its class size, and the lower bound of that."""

    key: Key
    emds: tuple[Fraction, ...]
    class_size: ClassSize
    bound: SizeBound | None


def fill_release_partitions(
    plan: Plan, workspace: Workspace, summary: InputSummary, policy: Policy
) -> Plan:
    """The plan with its release partitions, each of one leaf.

    Raises
    ------
    InfeasibleError
        Some release partition cannot be released: the proof, and what could be asked.
    """
    counts = PartitionValueCounts(plan, workspace, summary, load_distributions(workspace, plan))
    return _PartitionPlanner(plan, workspace, summary, policy, counts).finish()


def place_bins(release_partitions: Iterable[ReleasePartition]) -> tuple[ReleasePartition, ...]:
    """The release partitions with their bins numbered one release partition after the other."""
    placed: list[ReleasePartition] = []
    for release_partition in release_partitions:
        first_bin = placed[-1].first_bin + placed[-1].n_bins if placed else 0
        placed.append(replace(release_partition, first_bin=first_bin))
    return tuple(placed)


@dataclass(frozen=True, eq=False)
class _PartitionPlanner:
    plan: Plan
    workspace: Workspace
    summary: InputSummary
    policy: Policy
    counts: PartitionValueCounts

    def finish(self) -> Plan:
        keys = sorted(self.summary.table.release_partitions, key=self._partition_codes)
        emds_of = {key: self._measure(key) for key in keys}
        self._check_models(emds_of)
        self._check_feasible(emds_of)
        bounds = {key: self._bound(key) for key in keys}
        check_two_classes(list(bounds.values()), self.plan.k)
        drafts = [self._draft(key, emds_of[key], bounds[key]) for key in keys]
        subset_attribute = self._choose_subset_attribute(drafts)
        release_partitions = place_bins(
            [self._plan_partition(draft, subset_attribute) for draft in drafts]
        )
        n_nodes, depth = _measure_trees(self.counts.distributions)
        return replace(
            self.plan,
            subset_attribute=subset_attribute,
            release_partitions=release_partitions,
            n_nodes=n_nodes,
            tree_depth=depth,
        )

    def _plan_partition(self, draft: _Draft, subset_attribute: int) -> ReleasePartition:
        key, n_records = draft.key, self.summary.table.release_partitions[draft.key]
        is_one_region = self.plan.method.whole_table  # nothing is cut by subsets there
        subsets, n_clusters = cut_subsets(
            draft.class_size.adjusted,
            None if is_one_region else self.counts.of(key, subset_attribute),
            n_records,
            self.policy.seed,
            draft.class_size.count_clusters(n_records),
        )
        tie_seen = self.counts.count_ties(key, subset_attribute, subsets.tie_codes)
        subsets = replace(subsets, tie_seen=tie_seen)
        one_region = is_one_region or self.plan.method.is_one_block
        n_regions = 1 if one_region else count_regions(n_records, self.plan.method.max_records)
        cells = NO_CELLS if is_one_region else self._cut_cells(key, subset_attribute)
        return ReleasePartition(
            key, self._partition_codes(key), n_records, draft.class_size, n_clusters, n_regions,
            draft.emds, subsets, one_leaf(subsets, cells.n_cells), 0, cells, draft.bound,
        )  # fmt: skip

    def _partition_codes(self, key: Key) -> tuple[int, ...]:
        return tuple(
            int(e.encode(pa.array([value], type=e.type))[0])
            for e, value in zip(self.plan.partition_columns, key, strict=True)
        )

    def _measure(self, key: Key) -> tuple[Fraction, ...]:
        """Exact distance of a release partition to the table, for each confidential attribute."""
        emds = []
        for a, table in enumerate(self.counts.distributions):
            of_partition = self.counts.of(key, a)
            assert of_partition is not None
            emds.append(partition_distance(of_partition, table))
        return tuple(emds)

    def _check_feasible(self, emds_of: dict[Key, tuple[Fraction, ...]]) -> None:
        """Refuse what cannot be.

        The smallest release partition is named, then the farthest, so that its k and t would do for
        all.
        """
        plan, counts = self.plan, self.summary.table.release_partitions

        def rank(key: Key) -> tuple[int, Fraction]:
            above = [e for e, t in zip(emds_of[key], plan.max_emds, strict=True) if e > t]
            return min(counts[key], plan.k), -max(above, default=Fraction(0))

        for key in sorted(emds_of, key=rank):
            emds = list(emds_of[key])
            name, max_emds = self._name(key), list(plan.max_emds)
            check_feasible(name, counts[key], plan.k, plan.confidential, emds, max_emds)

    def _name(self, key: Key) -> str:
        """Name a release partition in a message, but for values that may be one person's."""
        columns, n_records = self.plan.partition_columns, self.summary.table.release_partitions[key]
        # How many persons these records are of is not known here.
        hidden = n_records < self.plan.k or self.summary.source.person is not None
        return "a partition" if columns and hidden else partition_name(columns, key)

    def _bound(self, key: Key) -> SizeBound | None:
        """Return the least class size that the equal distance alone allows, if more than k."""
        bounds = []
        for a, (encoding, table) in enumerate(
            zip(self.plan.confidential, self.counts.distributions, strict=True)
        ):
            of_partition = self.counts.of(key, a)
            if encoding.column.distance is Distance.EQUAL and of_partition is not None:
                limit = self.plan.verification_limits[a]
                bounds.append(bound_size(encoding.column, table, of_partition, limit, self.plan.k))
        largest = max(bounds, key=lambda bound: bound.size, default=None)
        return largest if largest is not None and largest.size > self.plan.k else None

    def _check_models(self, emds_of: dict[Key, tuple[Fraction, ...]]) -> None:
        """Refuse further models that a release partition of k or more records cannot meet."""
        plan = self.plan
        if not plan.privacy_models.requirements:
            return
        candidates = []
        for key, emds in emds_of.items():
            of_partition = [self.counts.of(key, a) for a in range(len(emds))]
            known = [table for table in of_partition if table is not None]
            if self.summary.table.release_partitions[key] >= plan.k:
                candidates.append(PartitionDistributions(self._name(key), known, emds))
        check_models_feasible(plan, self.counts.distributions, candidates)

    def _draft(self, key: Key, emds: tuple[Fraction, ...], bound: SizeBound | None) -> _Draft:
        return _Draft(key, emds, self._choose_size(key, emds), bound)

    def _choose_size(self, key: Key, emds: tuple[Fraction, ...]) -> ClassSize:
        """Choose a release partition's class size.

        The distance is a metric: classes within t - EMD(release partition, table) of the release
        partition are within t of the table.
        """
        remaining_t = [limit - emd for limit, emd in zip(self.plan.max_emds, emds, strict=True)]
        k, n_records = self.plan.k, self.summary.table.release_partitions[key]
        class_size = self.plan.method.initial_class_size
        if isinstance(class_size, int):
            return take_class_size(n_records, k, class_size)
        n_alone = self.plan.n_released
        if class_size == "paper" or (
            self.plan.search_budget.n_rounds == 0 and len(remaining_t) == n_alone
        ):
            return choose_class_size(n_records, k, remaining_t[:n_alone])
        demands = []
        for a, t in enumerate(remaining_t):
            of_partition = self.counts.of(key, a)
            assert of_partition is not None
            demands.append((of_partition, t))
        return fit_class_size(n_records, k, demands[:n_alone], demands[n_alone:])

    def _choose_subset_attribute(self, drafts: list[_Draft]) -> int:
        """The attribute whose subsets are taken: the one with the least distance left anywhere.

        Or a joint one that asks for larger classes: its subsets follow its first part, too.
        """
        remaining_t = [
            min(limit - draft.emds[a] for draft in drafts)
            for a, limit in enumerate(self.plan.max_emds)
        ]
        n_alone = self.plan.n_released
        if not remaining_t:
            return 0
        subset_attribute = remaining_t.index(min(remaining_t[:n_alone]))
        pairs = list(zip(self.counts.distributions, remaining_t, strict=True))
        n_records = self.summary.table.n_complete
        alone = max(wanted_size(pair, n_records) for pair in pairs[:n_alone])
        joint = [surely_within(pair, n_records) for pair in pairs[n_alone:]]
        if max(joint, default=0) > alone:
            return n_alone + joint.index(max(joint))
        return subset_attribute

    def _cut_cells(self, key: Key, subset_attribute: int) -> Cells:
        others = []
        for a in range(self.plan.n_released):
            of_partition = self.counts.of(key, a)
            if a != subset_attribute and of_partition is not None:
                others.append(of_partition)
        return cut_cells(others)


def _measure_trees(distributions: tuple[Distribution, ...]) -> tuple[int, int]:
    """Nodes of the trees over values that have no order, and nodes above a value in all of them."""
    metrics = [d.metric for d in distributions if d.metric is not None]
    return sum(m.below.size for m in metrics), sum(m.paths.shape[1] - 1 for m in metrics)
