"""From merged summaries to the plan: distributions, domains, subsets, coarse cuts."""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.errors import PolicyError
from pipeline.execution.combining import Combiner
from pipeline.execution.engine import Engine, merge_in_tree
from pipeline.execution.passes import run_pass
from pipeline.execution.progress import Progress
from pipeline.execution.requirements import check_models_feasible, require_models
from pipeline.execution.units.reading import (
    CountsSlice,
    DistributeItem,
    PartitionSummary,
    distribute_unit,
)
from pipeline.execution.units.shared import (
    Source,
    confidential_codes,
    load_distributions,
    load_joints,
    split_domains,
)
from pipeline.model import Column, Distance, Distribution, Int64, Kind, Role
from pipeline.settings import Policy
from pipeline.stages.bounds import SizeBound, bound_size, check_two_classes
from pipeline.stages.combinations import append_joint
from pipeline.stages.distances import domain_distance, with_metric
from pipeline.stages.generalise import spell_keys
from pipeline.stages.keys import FOLDER_TYPES, Encoding, folder_name
from pipeline.stages.methods.bucketing import Bucketing, bucketize
from pipeline.stages.methods.bucketization import RatioDemand
from pipeline.stages.methods.method import WHOLE, Method
from pipeline.stages.methods.refusals import Ask, check_method
from pipeline.stages.plan import (
    Domain,
    Plan,
    check_feasible,
    check_k,
    domain_name,
)
from pipeline.stages.refine import choose_effort
from pipeline.stages.scaling import NOTHING, scale_columns
from pipeline.stages.subsets import (
    NO_CELLS,
    Cells,
    ClassSize,
    Subsets,
    choose_class_size,
    cut_cells,
    cut_subsets,
    fit_class_size,
    surely_within,
    take_class_size,
    wanted_size,
)
from pipeline.stages.summarise import (
    ColumnSummary,
    TableSummary,
    make_encoding,
    own_values,
)
from pipeline.stages.tree import CoarseTree, count_regions, sample_leaves
from pipeline.storage.tables import (
    make_distribution,
    map_new_array,
    read_array,
    read_distribution,
    read_table,
    write_distribution,
)
from pipeline.storage.workspace import Workspace

MERGED_VALUES = 4_000_000
MAX_FOLDER_BYTES = 255


@dataclass(frozen=True, eq=False)
class Findings:
    """What pass 1 found, partition by partition and all together."""

    source: Source
    pieces: list[PartitionSummary]
    table: TableSummary


def merge_summaries(source: Source, pieces: list[PartitionSummary]) -> Findings:
    """All partitions' summaries as one."""
    table = merge_in_tree(TableSummary.merge, [piece.table for piece in pieces])
    return Findings(source, pieces, table)


def distribute(
    engine: Engine, workspace: Workspace, findings: Findings, progress: Progress
) -> None:
    """Merge the counts of every confidential attribute, range by range, into distributions."""
    items = [
        item
        for attribute, column in enumerate(findings.source.confidential)
        if column.kind is not Kind.NOMINAL
        for item in _range_items(workspace, findings, attribute)
    ]
    for attribute, column in enumerate(findings.source.confidential):
        if column.kind is Kind.NOMINAL:
            _write_nominal(workspace, attribute, column, findings.table.columns[column.name])
    if not items:
        return
    sizes = run_pass(engine, workspace, "distribute", distribute_unit, items, progress)
    for attribute in range(len(findings.source.confidential)):
        parts = [i for i, item in enumerate(items) if item.attribute == attribute]
        if parts:
            _join_ranges(workspace, attribute, parts, [sizes[i] for i in parts])


def _write_nominal(
    workspace: Workspace, attribute: int, column: Column, summary: ColumnSummary
) -> None:
    """Write the distribution of nominal values, which pass 1 has counted, in their order."""
    categories = make_encoding(column, summary).categories
    assert categories is not None
    counts = np.array([summary.categories[v] for v in categories.to_pylist()], dtype=np.int64)
    made = make_distribution(np.arange(counts.size), counts)
    write_distribution(made, workspace.path("values", f"distribution{attribute}"))


def _range_items(workspace: Workspace, findings: Findings, attribute: int) -> list[DistributeItem]:
    """Ranges of about equal numbers of entries; where they are cut changes no result."""
    slices = tuple(
        CountsSlice(index, start, stop)
        for index, piece in enumerate(findings.pieces)
        for start, stop in piece.spans[attribute].values()
    )
    n_entries = sum(part.stop - part.start for part in slices)
    n_ranges = max(1, -(-n_entries // MERGED_VALUES))
    cuts: list[Any] = [None]
    if n_ranges > 1:
        picked = np.sort(np.concatenate([_pick(workspace, attribute, part) for part in slices]))
        cuts += [picked[picked.size * i // n_ranges].item() for i in range(1, n_ranges)]
    cuts.append(None)
    return [DistributeItem(attribute, slices, low, high) for low, high in pairwise(cuts)]


def _pick(workspace: Workspace, attribute: int, part: CountsSlice) -> np.ndarray:
    path = workspace.unit("summarise", part.index).path(f"counts{attribute}")
    return np.array(read_array(path)["value"][part.start : part.stop : 1024])


def _join_ranges(workspace: Workspace, attribute: int, parts: list[int], sizes: list[int]) -> None:
    """Write a distribution's arrays part by part; memory stays at one part."""
    folder = workspace.root / "values"
    first = read_array(workspace.unit("distribute", parts[0]).path("counts"))
    total = sum(sizes)
    paths = {
        part: folder / f"distribution{attribute}.{part}.npy"
        for part in ("values", "cumulative", "prefix")
    }
    dtypes: dict[str, Any] = {
        "values": first["value"].dtype,
        "cumulative": np.int64,
        "prefix": np.int64,
    }
    maps = {
        part: map_new_array(paths[part], dtypes[part], (total + (part == "prefix"),))
        for part in paths
    }
    filled, records, work = 0, 0, 0
    for index in parts:
        rows = read_array(workspace.unit("distribute", index).path("counts"))
        stop = filled + rows.size
        maps["values"][filled:stop] = rows["value"]
        cumulative = records + np.cumsum(rows["count"])
        maps["cumulative"][filled:stop] = cumulative
        prefix = work + np.cumsum(cumulative)
        maps["prefix"][filled + 1 : stop + 1] = prefix
        if rows.size:
            filled, records, work = stop, int(cumulative[-1]), int(prefix[-1])
    for array in maps.values():
        array.flush()  # type: ignore[attr-defined]


def make_plan(policy: Policy, workspace: Workspace, findings: Findings) -> Plan:
    """The plan, or the proof that there is none.

    Raises
    ------
    PolicyError, InfeasibleError
    """
    columns = findings.source.columns
    check_k(policy.privacy.k, findings.table.n_complete)
    made = {
        c.name: make_encoding(c, findings.table.columns[c.name])
        for c in columns
        if c.name in findings.table.columns
    }
    partition_by = policy.output.partition_by
    _check_folders(made, partition_by)
    hard = tuple(made[name] for name in findings.source.hard)
    quasi = [made[c.name] for c in columns if c.role is Role.QUASI_IDENTIFIER]
    quasi.sort(key=lambda e: _place(e.column.name, partition_by))
    confidential = tuple(made[c.name] for c in findings.source.confidential)
    carried = tuple(
        c for c in columns
        if (c.role is Role.NON_CONFIDENTIAL and c.name not in findings.source.hard)
        or c.attribute.noise is not None
    )  # fmt: skip
    limits = tuple(_limit(c) for c in findings.source.confidential)
    table = policy.method.scope == "table"
    method = _choose_method(policy)
    bucketing = None
    if method.ratio is not None:
        bucketing = _bucketize(workspace, confidential, hard, method, policy.privacy.k)
        confidential = (bucketing.released,) if method.releases_buckets else confidential
    joint = Combiner(findings.source, findings.pieces, workspace, confidential).write()
    limits = (*limits, *(_limit(encoding.column) for encoding in joint))
    if method.generalises:
        _check_set_folders(quasi, partition_by)
        quasi = [replace(encoding, generalised=True) for encoding in quasi]
    plan = Plan(
        k=policy.privacy.k,
        max_emds=limits,
        encodings=tuple(quasi),
        confidential=(*confidential, *joint),
        carried=carried,
        hard=hard,
        partition_by=partition_by,
        released=tuple(c.name for c in columns),
        primary=0,
        domains=(),
        block_clusters=2**62 if table else policy.method.block_clusters,
        rows_per_file=policy.output.rows_per_file,
        effort=choose_effort(policy.method.refine, findings.table.n_complete),
        seed=policy.seed,
        method=method,
        bucketing=bucketing,
    )
    distributions = load_distributions(workspace, plan)
    plan = require_models(plan, policy, distributions, findings.table.n_complete)
    check_method(
        Ask(method, plan.encodings, plan.confidential, bucketing, plan.k, is_cut=bool(hard))
    )
    return _Planner(plan, workspace, findings, policy).finish()


def _choose_method(policy: Policy) -> Method:
    given = policy.method
    ratio = None if given.ratio is None else Fraction(str(given.ratio))
    return Method(given.name, given.start, given.gamma, given.buckets, ratio, given.release)


def _bucketize(
    workspace: Workspace,
    confidential: tuple[Encoding, ...],
    hard: tuple[Encoding, ...],
    method: Method,
    k: int,
) -> Bucketing:
    """The buckets; where they are released they take the place of the values (``source``)."""
    if len(confidential) != 1 or hard:
        raise PolicyError(
            "method.name: bucketization works with one confidential attribute of the whole table; "
            "give one, and no partition columns that are released as they are"
        )
    assert method.ratio is not None
    values = workspace.path("values", "distribution0")
    distribution = read_distribution(values)
    demand = RatioDemand(k, method.ratio, method.n_buckets)
    bucketing = bucketize(confidential[0], distribution, demand)
    if method.releases_buckets:
        write_distribution(distribution, workspace.path("values", "source0"))
        in_buckets = make_distribution(np.arange(bucketing.sizes.size), bucketing.sizes)
        write_distribution(in_buckets, values)
    return bucketing


def _check_folders(made: dict[str, Encoding], partition_by: tuple[str, ...]) -> None:
    """Refuse partition columns whose values cannot name folders, or would read back as others."""
    for name in partition_by:
        encoding = made[name]
        if encoding.release_type not in FOLDER_TYPES:
            raise PolicyError(
                f"output.partition_by: column {name!r} of type {encoding.release_type} cannot "
                "name folders; use text, integer, boolean or date"
            )
        values = encoding.categories.to_pylist() if encoding.categories is not None else []
        folders = [folder_name(name, value) for value in values]
        unfit = [f for f in folders if len(f.encode()) > MAX_FOLDER_BYTES or f in _unfit(name)]
        if unfit or len({folder.casefold() for folder in folders}) < len(folders):
            raise PolicyError(
                f"output.partition_by: column {name!r} has values that cannot name folders (empty, "
                f"over {MAX_FOLDER_BYTES} bytes, reserved, or alike but for case); take another"
            )


def _check_set_folders(quasi: list[Encoding], partition_by: tuple[str, ...]) -> None:
    """Refuse nominal partition columns whose sets of values could be too long for a folder."""
    for encoding in quasi:
        name = encoding.column.name
        is_set = encoding.is_nominal and not encoding.column.attribute.taxonomy
        if name not in partition_by or not is_set:
            continue
        largest = "{" + ", ".join(spell_keys(encoding, np.arange(len(encoding.texts)))) + "}"
        if len(folder_name(name, largest).encode()) > MAX_FOLDER_BYTES:
            raise PolicyError(
                f"output.partition_by: column {name!r} is released as sets of values, which can be "
                f"too long to name folders (over {MAX_FOLDER_BYTES} bytes); give it a taxonomy, or "
                "take another"
            )


def _unfit(name: str) -> tuple[str, str]:
    """What a reader takes for a missing value."""
    return folder_name(name, ""), folder_name(name, "__HIVE_DEFAULT_PARTITION__")


def _place(name: str, partition_by: tuple[str, ...]) -> int:
    return partition_by.index(name) if name in partition_by else len(partition_by)


def _limit(column: Column) -> Fraction:
    assert column.attribute.max_emd is not None
    return column.attribute.max_emd


@dataclass(frozen=True, eq=False)
class _Planner:
    """Fills in the domains of a plan."""

    plan: Plan
    workspace: Workspace
    findings: Findings
    policy: Policy

    @property
    def one_region(self) -> bool:
        return self.policy.method.scope == "table" or self.plan.method.name in WHOLE

    def finish(self) -> Plan:
        counts = self.findings.table.domains
        keys = sorted(counts, key=self._hard_codes)
        distributions = load_distributions(self.workspace, self.plan)
        emds_of = {key: self._measure(key, distributions) for key in keys}
        self._check_models(emds_of, counts, distributions)
        self._check_feasible(emds_of, counts)
        bounds = {key: self._bound(key, distributions) for key in keys}
        check_two_classes(list(bounds.values()), self.plan.k)
        drafts = [self._draft(key, counts, emds_of[key], distributions) for key in keys]
        primary = self._choose_primary(drafts, distributions)
        domains: list[Domain] = []
        first_bin = 0
        samples = self._read_sample()
        for key, emds, class_size in drafts:
            whole = self.plan.method.name in WHOLE  # nothing is cut by subsets there
            of_domain = None if whole else self._distribution(key, primary, distributions)
            subsets, n_clusters = cut_subsets(
                class_size.adjusted,
                of_domain,
                counts[key],
                self.policy.seed,
                class_size.count_clusters(counts[key]),
            )
            subsets = replace(
                subsets, tie_seen=self._count_ties(key, primary, subsets.tie_codes, distributions)
            )
            most = self.plan.method.most_records
            n_regions = 1 if self.one_region else count_regions(counts[key], most)
            cells = NO_CELLS if whole else self._cut_cells(key, primary, distributions)
            tree = self._grow(key, samples, (subsets, cells), primary, distributions, n_regions)
            domain = Domain(
                key, self._hard_codes(key), counts[key], class_size, n_clusters,
                n_regions, emds, subsets, tree, first_bin, cells, bounds[key],
            )  # fmt: skip
            domains.append(domain)
            first_bin += domain.n_bins
        n_nodes, depth = _measure_trees(distributions)
        return replace(
            self.plan, primary=primary, domains=tuple(domains), n_nodes=n_nodes, tree_depth=depth
        )

    def _hard_codes(self, key: tuple[Any, ...]) -> tuple[int, ...]:
        return tuple(
            int(e.encode(pa.array([value], type=e.type))[0])
            for e, value in zip(self.plan.hard, key, strict=True)
        )

    def _measure(
        self, key: tuple[Any, ...], distributions: tuple[Distribution, ...]
    ) -> tuple[Fraction, ...]:
        """Exact distance of a domain to the table, for each confidential attribute."""
        emds = []
        for a, table in enumerate(distributions):
            of_domain = self._distribution(key, a, distributions)
            assert of_domain is not None
            emds.append(domain_distance(of_domain, table))
        return tuple(emds)

    def _check_feasible(
        self, emds_of: dict[tuple[Any, ...], tuple[Fraction, ...]], counts: Counter[Any]
    ) -> None:
        """Refuse what cannot be; the farthest domain speaks, so that its t would do for all."""
        plan = self.plan
        for key in sorted(emds_of, key=lambda key: -max(emds_of[key], default=Fraction(0))):
            emds = list(emds_of[key])
            small = bool(plan.hard) and counts[key] < plan.k  # its value may be one person's
            name = "a partition" if small else domain_name(plan.hard, key)
            check_feasible(name, counts[key], plan.k, plan.confidential, emds, list(plan.max_emds))

    def _bound(
        self, key: tuple[Any, ...], distributions: tuple[Distribution, ...]
    ) -> SizeBound | None:
        """What the equal distance alone asks of the size of a domain's classes, if more than k."""
        bounds = []
        for a, (encoding, table) in enumerate(
            zip(self.plan.confidential, distributions, strict=True)
        ):
            of_domain = self._distribution(key, a, distributions)
            if encoding.column.distance is Distance.EQUAL and of_domain is not None:
                limit = self.plan.judged_emds[a]
                bounds.append(bound_size(encoding.column, table, of_domain, limit, self.plan.k))
        largest = max(bounds, key=lambda bound: bound.size, default=None)
        return largest if largest is not None and largest.size > self.plan.k else None

    def _check_models(
        self,
        emds_of: dict[tuple[Any, ...], tuple[Fraction, ...]],
        counts: Counter[Any],
        distributions: tuple[Distribution, ...],
    ) -> None:
        """Refuse further models that a domain cannot meet; too small domains are refused later."""
        plan = self.plan
        if not plan.further.requirements:
            return
        for key, emds in emds_of.items():
            of_domain = [self._distribution(key, a, distributions) for a in range(len(emds))]
            known = [table for table in of_domain if table is not None]
            if counts[key] >= plan.k:
                name = domain_name(plan.hard, key)
                check_models_feasible(name, plan, distributions, known, emds)

    def _draft(
        self,
        key: tuple[Any, ...],
        counts: Counter[Any],
        emds: tuple[Fraction, ...],
        distributions: tuple[Distribution, ...],
    ) -> tuple[tuple[Any, ...], tuple[Fraction, ...], ClassSize]:
        """Choose a domain's class size.

        The distance is a metric: classes within t - EMD(domain, table) of the domain are within t
        of the table.
        """
        left = [limit - emd for limit, emd in zip(self.plan.max_emds, emds, strict=True)]
        k, n_records, asked = self.plan.k, counts[key], self.policy.method.class_size
        if isinstance(asked, int):
            return key, emds, take_class_size(n_records, k, asked)
        n_alone = self.plan.n_released
        if asked == "paper" or (self.plan.effort.n_rounds == 0 and len(left) == n_alone):
            return key, emds, choose_class_size(n_records, k, left[:n_alone])
        demands = []
        for a, t in enumerate(left):
            of_domain = self._distribution(key, a, distributions)
            assert of_domain is not None
            demands.append((of_domain, t))
        return key, emds, fit_class_size(n_records, k, demands[:n_alone], demands[n_alone:])

    def _choose_primary(
        self,
        drafts: list[tuple[tuple[Any, ...], tuple[Fraction, ...], ClassSize]],
        distributions: tuple[Distribution, ...],
    ) -> int:
        """The attribute whose subsets are taken: the one with the least distance left anywhere.

        Or a joint one that asks for larger classes: its subsets follow its first part, too.
        """
        left = [
            min(limit - emds[a] for _, emds, _ in drafts)
            for a, limit in enumerate(self.plan.max_emds)
        ]
        n_alone = self.plan.n_released
        if not left:
            return 0
        primary = left.index(min(left[:n_alone]))
        pairs = list(zip(distributions, left, strict=True))
        n_records = self.findings.table.n_complete
        alone = max(wanted_size(pair, n_records) for pair in pairs[:n_alone])
        joint = [surely_within(pair, n_records) for pair in pairs[n_alone:]]
        if max(joint, default=0) > alone:
            return n_alone + joint.index(max(joint))
        return primary

    def _distribution(
        self, key: tuple[Any, ...], attribute: int, distributions: tuple[Distribution, ...]
    ) -> Distribution | None:
        """A domain's distribution over the table's values; the table's own if it is alone."""
        if not distributions:
            return None
        table = distributions[attribute]
        if not self.plan.hard:
            return table
        counts = np.zeros(table.values.size, dtype=np.int64)
        for index, piece in enumerate(self.findings.pieces):
            rows = self._counts(index, piece, key, attribute)
            counts[np.searchsorted(table.values, rows["value"])] += rows["count"]
        encoding = self.plan.confidential[attribute]
        made = make_distribution(np.array(table.values), counts)
        return with_metric(made, encoding.column, encoding.texts)

    def _counts(
        self, index: int, piece: PartitionSummary, key: tuple[Any, ...], attribute: int
    ) -> np.ndarray:
        """Distinct values of a domain in a partition, ascending, and their counts."""
        n_released = self.plan.n_released
        if attribute >= n_released:
            return self._combiner.counts(attribute - n_released, index, key)
        start, stop = piece.spans[attribute].get(key, (0, 0))
        path = self.workspace.unit("summarise", index).path(f"counts{attribute}")
        rows = read_array(path)[start:stop]
        encoding = self.plan.confidential[attribute]
        if encoding.column.kind is not Kind.NOMINAL:
            return rows
        own = own_values(piece.table.columns[encoding.column.name].categories)
        codes = encoding.encode(pa.array(own, type=encoding.type))
        rows = rows.copy()
        rows["value"] = codes[rows["value"]]
        return np.sort(rows, order="value")

    @property
    def _combiner(self) -> Combiner:
        released = self.plan.confidential[: self.plan.n_released]
        return Combiner(self.findings.source, self.findings.pieces, self.workspace, released)

    def _count_ties(
        self,
        key: tuple[Any, ...],
        attribute: int,
        tie_codes: Int64,
        distributions: tuple[Distribution, ...],
    ) -> Int64:
        """Records of each straddling value in the partitions before each: (partitions, u)."""
        in_each = np.zeros((len(self.findings.pieces), tie_codes.size), dtype=np.int64)
        if not tie_codes.size:
            return in_each
        wanted = distributions[attribute].values[tie_codes]
        for index, piece in enumerate(self.findings.pieces):
            rows = self._counts(index, piece, key, attribute)
            place = np.minimum(np.searchsorted(rows["value"], wanted), max(rows.size - 1, 0))
            if rows.size:
                in_each[index] = np.where(rows["value"][place] == wanted, rows["count"][place], 0)
        return np.cumsum(in_each, axis=0) - in_each

    def _read_sample(self) -> pa.Table | None:
        if self.findings.source.sample_share <= 0:
            return None
        indices = range(len(self.findings.pieces))
        paths = [self.workspace.unit("summarise", index).path("sample") for index in indices]
        return pa.concat_tables([read_table(path) for path in paths]).combine_chunks()

    def _grow(
        self,
        key: tuple[Any, ...],
        sample: pa.Table | None,
        strata: tuple[Subsets, Cells],
        primary: int,
        distributions: tuple[Distribution, ...],
        n_regions: int,
    ) -> CoarseTree:
        subsets, cells = strata
        none = np.empty(0, dtype=np.int64)
        if sample is None or n_regions == 1:
            return sample_leaves(subsets, none, NOTHING, n_regions=1, cells=(none, cells.n_cells))
        rows = split_domains(sample, self.findings.source.hard).get(key, none)
        of_domain = sample.take(pa.array(rows))
        keys = [e.encode(of_domain[e.column.name].combine_chunks()) for e in self.plan.encodings]
        scaled = scale_columns(list(self.plan.encodings), keys)
        released = self.plan.confidential[: self.plan.n_released]
        pairs = zip(released, distributions, strict=False)
        codes = np.array([confidential_codes(of_domain, *pair) for pair in pairs], dtype=np.int64)
        codes = codes.reshape(len(released), rows.size)
        codes = append_joint(codes, load_joints(self.workspace, self.plan))
        of_primary = codes[primary] if len(distributions) else np.zeros(rows.size, np.int64)
        of_cell = cells.find(codes, primary), cells.n_cells
        return sample_leaves(subsets, of_primary, scaled, n_regions, of_cell)

    def _cut_cells(
        self, key: tuple[Any, ...], primary: int, distributions: tuple[Distribution, ...]
    ) -> Cells:
        further = []
        for a in range(self.plan.n_released):
            of_domain = self._distribution(key, a, distributions)
            if a != primary and of_domain is not None:
                further.append(of_domain)
        return cut_cells(further)


def _measure_trees(distributions: tuple[Distribution, ...]) -> tuple[int, int]:
    """Nodes of the trees over values that have no order, and nodes above a value in all of them."""
    metrics = [d.metric for d in distributions if d.metric is not None]
    return sum(m.below.size for m in metrics), sum(m.paths.shape[1] - 1 for m in metrics)
