"""Small tables, and what the pipeline's own passes release of them, again and again in memory.

The plan is made once. It depends on the confidential values' counts alone, so it holds for every
arrangement of the same values over the records.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tclose.data.keys import Keys
from tclose.kernels.clustering.assign_subsets import assign_subsets
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution
from tclose.passes.encode.encode_task import HISTOGRAM
from tclose.passes.microaggregate.region_classes import RegionClasses, release_region
from tclose.passes.microaggregate.region_clusters import cluster_region
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.plan.plan import PLAN, Plan
from tclose.passes.plan.plan_files import BUCKETED_VALUES, confidential_codes, load_distributions
from tclose.passes.release import RELEASE
from tclose.policy.policy import parse_policy
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import run_pipeline
from tclose.runtime.run import Run


@dataclass(frozen=True, eq=False)
class Subtable:
    """A table, its plan, and what an arrangement of its confidential values is released as.

    ``keys``: of each quasi-identifier; ``values`` int64 (n,): confidential value of each record, or
    the bucket that is released for it, as a position among the ``counts`` int64 (m,) of them all.
    """

    plan: Plan
    distributions: tuple[Distribution, ...]
    keys: list[Keys]
    values: Int64
    counts: Int64

    def release(self, values: Int64) -> Hashable:
        """The published form of an arrangement, whatever the order of rows and classes.

        Released quasi-identifiers of each class and its confidential values, sorted. Where these
        are released with noise they are left out: what noise says is bounded by epsilon.
        """
        made, members = self._microaggregate(values)
        if made.n_violating:
            return None
        codes = values if self.plan.confidential else np.zeros_like(values)
        released = zip(*(column.tolist() for column in made.released), strict=True)
        held = [tuple(sorted(codes[rows].tolist())) for rows in members]
        return tuple(sorted(zip(released, held, strict=True), key=repr))

    def classes(self) -> list[Int64]:
        """Records of each class of the table as it is."""
        return self._microaggregate(self.values)[1]

    def _microaggregate(self, values: Int64) -> tuple[RegionClasses, list[Int64]]:
        rows, records = self._arrange(values)
        clusters = cluster_region(records, self.plan, self.distributions, None)
        made = release_region(clusters, records, self.plan)
        return made, [rows[part] for part in np.split(made.order, made.starts[1:-1])]

    def _arrange(self, values: Int64) -> tuple[Int64, RegionRecords]:
        """Records subset by subset, within a subset in the order of the table."""
        plan, (release_partition,) = self.plan, self.plan.release_partitions
        subsets, n_subsets = release_partition.subsets, release_partition.subsets.take.size
        codes = values[None, :][: len(plan.confidential)]
        subset_of = np.zeros(values.size, dtype=np.int32)
        if n_subsets > 1:
            ties = subsets.tie_codes, subsets.tie_rule, subsets.tie_seen[0]
            subset_of = assign_subsets(codes[0], subsets.cut_codes, subsets.cut_ranks, *ties)
        order = np.argsort(subset_of, kind="stable")
        codes = np.ascontiguousarray(codes[:, order])
        sizes = np.bincount(subset_of, minlength=n_subsets)
        return order, RegionRecords(
            keys=[column[order] for column in self.keys],
            codes=codes,
            cells=release_partition.cells.find(codes, plan.subset_attribute),
            subset_starts=np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
            take=subsets.take,
            n_clusters=release_partition.n_clusters,
            name=(0, 0),
        )


def prepare(table: pa.Table, document: dict[str, Any], folder: Path) -> Subtable:
    """Plan the release of a table by the passes of a run.

    Parameters
    ----------
    document : policy as YAML would give it; its one column that is confidential is arranged anew
    folder : for working files; has to be new
    """
    folder.mkdir()
    pq.write_table(table, folder / "table.parquet")
    places = {"input": {"path": str(folder / "table.parquet")}, "output": {"path": str(folder)}}
    policy, quiet = parse_policy(document | places), Progress("none")
    run = Run(policy, "attack", folder / "work", InProcess())
    run_pipeline(RELEASE.until(HISTOGRAM), run, quiet)
    return _read_subtable(run, table)


def _read_subtable(run: Run, table: pa.Table) -> Subtable:
    plan = run.workspace.load(PLAN)
    if len(plan.release_partitions) != 1 or plan.release_partitions[0].n_regions != 1:
        raise ValueError("the table is too large: it has to be one region")
    name = next(n for n, a in run.policy.attributes.items() if a.role == "confidential")
    distributions = load_distributions(run.workspace, plan)
    column = table.select([name])
    if plan.bucketing is not None and plan.method.releases_buckets:
        source = run.workspace.file(BUCKETED_VALUES, 0).read()
        values = plan.bucketing.of_code[confidential_codes(column, plan.bucketing.source, source)]
    elif plan.confidential:
        values = confidential_codes(column, plan.confidential[0], distributions[0])
    else:
        values = np.unique(table[name].to_numpy(), return_inverse=True)[1].astype(np.int64)
    keys = [e.encode(table[e.column.name].combine_chunks()) for e in plan.encodings]
    return Subtable(plan, distributions, keys, values, np.bincount(values))
