"""Classes of several regions that are released alike: they are one, and have to hold over persons.

A union of classes that are within t over persons is within it, too, unless somebody has records in
several of them, which are weighed anew there. Within a region that is seen to where its classes are
made; between regions here: all such classes but those of one region are united with others.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.data.keys import Keys
from tclose.methods.clustering_problem import label_records
from tclose.methods.scaling import scale_for_search
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.class_files import read_class_records
from tclose.passes.microaggregate.region_classes import RegionClasses
from tclose.passes.microaggregate.region_clusters import repair_clusters
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.microaggregate.repair.merge_until import merge_until
from tclose.passes.microaggregate.search.compared_searches import RegionClusters
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.plan_files import count_codes
from tclose.passes.summarise.records import JOINTS
from tclose.privacy.joint import append_joint
from tclose.privacy.person_closeness import PersonDemand
from tclose.runtime.artifacts.artifacts import Artifact, Workspace

# Of each region, step by step, positions of classes that are united with near ones.
UNITED = Artifact("united-classes", list[tuple[tuple[int, ...], ...]])
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads near numbers
_HALF = np.uint64(32)


def has_returning(plan: Plan) -> bool:
    """Return whether persons are counted, and some have several records."""
    return plan.persons is not None and bool(plan.persons.n_several)


def hash_keys(columns: Sequence[Keys]) -> Int64:
    """Hashes of rows, int64 (n,): equal rows have the same, others hardly ever."""
    hashes = np.zeros(columns[0].size, dtype=np.uint64)
    for column in columns:
        numbers = column + 0.0 if column.dtype.kind == "f" else column.astype(np.int64)  # no -0.0
        hashes = (hashes ^ numbers.view(np.uint64)) * _GOLDEN
        hashes ^= hashes >> _HALF
    return hashes.view(np.int64)


def find_failing_unions(
    workspace: Workspace,
    plan: Plan,
    names: Sequence[str],
    hashes: Sequence[Int64],
    class_types: Sequence[np.dtype],
    demand: PersonDemand,
) -> list[tuple[int, ...]]:
    """Positions of the classes of each region that may not be released as they are.

    Parameters
    ----------
    names, hashes, class_types : of the regions, see `RegionResult`
    """
    sizes = [of_region.size for of_region in hashes]
    region_of = np.repeat(np.arange(len(sizes)), sizes)
    position_of = np.concatenate([np.arange(n) for n in sizes])
    alike, groups = _group_alike(np.concatenate(hashes))
    if not alike.size:
        return [()] * len(sizes)
    parts, places = [], []
    for region in np.unique(region_of[alike]).tolist():
        here = np.flatnonzero(region_of[alike] == region)
        here = here[np.argsort(position_of[alike[here]])]
        n_rows, codes = read_class_records(
            workspace,
            names[region],
            class_types[region],
            position_of[alike[here]],
            count_codes(plan),
        )
        parts.append(codes)
        places.append(np.repeat(here, n_rows))
    of_class = np.concatenate(places)
    codes = np.concatenate(parts, axis=1)[:, np.argsort(of_class, kind="stable")]
    starts = np.append(0, np.cumsum(np.bincount(groups[of_class])))
    joints = workspace.load_shared(JOINTS)
    held = demand.holds(starts, codes[-1], append_joint(codes[: plan.n_released], joints))
    is_united = ~held[groups]
    is_united[np.flatnonzero(np.diff(groups, prepend=-1))] = False  # one of them stays as it is
    united = alike[is_united]
    return [
        tuple(sorted(position_of[united[region_of[united] == region]].tolist()))
        for region in range(len(sizes))
    ]


def _group_alike(hashes: Int64) -> tuple[Int64, Int64]:
    """The classes that others have the hash of, group by group, and the group of each."""
    order = np.argsort(hashes, kind="stable")
    is_first = np.append(True, hashes[order[1:]] != hashes[order[:-1]])
    group_of = np.cumsum(is_first) - 1
    is_alike = np.bincount(group_of)[group_of] > 1
    groups: Int64 = np.unique(group_of[is_alike], return_inverse=True)[1]
    return order[is_alike], groups


def unite_alike(
    made: tuple[RegionClusters, RegionClasses],
    positions: tuple[int, ...],
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    demand: PersonDemand,
) -> RegionClusters:
    """Clusters of a region in which some classes are united with near ones, so that all hold.

    ``made``: the clusters, and the classes that they became.
    """
    clusters, classes = made
    assert records.persons is not None
    persons, codes = records.persons, records.codes
    scaled = scale_for_search(list(plan.encodings), records.keys)
    firsts = classes.order[classes.starts[list(positions)]]
    sizes = np.diff(classes.starts)[list(positions)]

    def holds(order: Int64, starts: Int64) -> NDArray[np.bool_]:
        held = demand.holds(starts, persons[order], codes[:, order])
        now = label_records(order, starts)[firsts]
        held[now] &= np.diff(starts)[now] > sizes
        return held

    labels, n_united, _ = merge_until(
        label_records(classes.order, classes.starts),
        scaled.numeric,
        scaled.nominal,
        holds,
        scaled.weights,
    )
    repaired = repair_clusters(labels, records, plan, distributions, demand)
    n_repaired = clusters.n_repaired + n_united + repaired.n_repaired
    return replace(clusters, labels=repaired.labels, n_repaired=n_repaired)
