"""(k', t')-closeness of the common refinement of releases, decided exactly.

Every cell needs k' persons, and in every release in which it is present each confidential attribute
has to be distributed in the cell within t' of the release's table. Each published class is a union
of cells, so whatever all releases say together follows from the table "cell, values". Unions of
cells keep both, so that subsets of the releases hold it too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from tclose.assess.any_table import measure_column
from tclose.assess.over_time.attack_result import CellDistance, LeftPersons, RefinementCheck
from tclose.assess.over_time.cells import Membership, first_cell, refine_cells
from tclose.assess.over_time.series_promise import SeriesPromise
from tclose.data.columns import resolve_column
from tclose.data.keys import plain_type
from tclose.kernels.aggregate import group_by_label
from tclose.model.array_types import Bools, Int64
from tclose.model.attributes import Attribute
from tclose.privacy.t_closeness import class_distances, classes_above


def check_refinement(
    memberships: Sequence[Membership],
    rows: Sequence[tuple[pa.Table, Int64]],
    attributes: Sequence[Sequence[Attribute]],
    k: int,
    t: Fraction | None,
    promise: SeriesPromise | None = None,
) -> RefinementCheck:
    """Decide whether cells have k persons, and are within t of every release.

    Parameters
    ----------
    memberships : the one class of each person in each release
    rows : of each release the confidential values, and the person of each row, int64 (n,)
    attributes : the confidential attributes of each release, each with its ``max_emd`` or None
    t : for all of them, or None for the t of each; those that have none are left out then
    promise : of releases of a series; None if all cells are held to k and t

    Raises
    ------
    DataError
        Values without a place in their order.
    """
    cells = first_cell(memberships[0].n_persons)
    for membership in memberships:
        cells = refine_cells(cells, membership)
    of_person, sizes = cells.cell, cells.sizes
    is_released = _find_cells(memberships, of_person, sizes.size)  # of others nothing was told
    is_held = is_released
    if promise is not None and not promise.holds_for_leavers:
        is_held = _find_cells([memberships[promise.newest]], of_person, sizes.size)
    promised = [None] * len(rows) if promise is None else promise.limits
    measured = [
        one
        for (table, persons), of, own in zip(rows, attributes, promised, strict=True)
        for one in _measure(table, of_person[persons], _limit(of, table, t, own), sizes.size)
    ]
    is_failing = sizes < k
    for one in measured:
        is_failing[one.cells[one.is_above]] = True
    return RefinementCheck(
        k=k,
        cells=int(is_held.sum()),
        smallest=int(sizes[is_held].min()),
        below_k=int((sizes[is_held] < k).sum()),
        distances=_merge_distances(measured, is_held),
        series=None if promise is None else promise.series,
        departures=None if promise is None else promise.departures,
        left=_count_left(sizes, is_released & ~is_held, is_failing),
    )


def _find_cells(memberships: Sequence[Membership], of_person: Int64, n_cells: int) -> Bools:
    """Return which cells are of persons who are in any of some releases: bool (n_cells,)."""
    is_found = np.zeros(n_cells, dtype=np.bool_)
    for membership in memberships:
        is_found[of_person[membership.is_present]] = True
    return is_found


def _limit(
    attributes: Sequence[Attribute],
    table: pa.Table,
    t: Fraction | None,
    promised: Mapping[str, Fraction] | None,
) -> list[Attribute]:
    """The attributes of the table that are held to a t, with it: the one asked, or promised."""
    limited = []
    for attribute in attributes:
        limit = attribute.max_emd if promised is None else promised.get(attribute.name)
        limit = limit if t is None else t
        if attribute.name in table.column_names and limit is not None:
            limited.append(replace(attribute, max_emd=limit))
    return limited


@dataclass(frozen=True, eq=False)
class _Measured:
    """Distances of the cells of one release in one attribute.

    ``cells`` int64 (m,): those that are in it; ``distances`` float64 (m,); ``is_above`` bool (m,).
    """

    attribute: str
    t: float
    cells: Int64
    distances: np.ndarray
    is_above: Bools


def _measure(
    table: pa.Table, cells: Int64, attributes: Sequence[Attribute], n_cells: int
) -> list[_Measured]:
    """Measure the cells of a release; ``cells`` int64 (n,): of each row."""
    order, starts = group_by_label(cells, n_cells)
    there = np.flatnonzero(np.diff(starts))  # the others are absent from it
    starts = np.append(starts[there], starts[-1])
    measured = []
    for attribute in attributes:
        column = resolve_column(attribute, plain_type(table.schema.field(attribute.name).type))
        distribution, codes = measure_column(table.select([attribute.name]), column)
        members, limit = codes[order], attribute.max_emd
        assert limit is not None
        distances = class_distances(members, starts, distribution)
        is_above = np.zeros(there.size, dtype=np.bool_)
        is_above[classes_above(distances, limit, members, starts, distribution)] = True
        measured.append(_Measured(attribute.name, float(limit), there, distances, is_above))
    return measured


def _merge_distances(measured: Sequence[_Measured], is_held: Bools) -> tuple[CellDistance, ...]:
    """The worst of each attribute over all releases, of the cells that are held to k and t."""
    distances: dict[str, CellDistance] = {}
    for one in measured:
        held = is_held[one.cells]
        before = distances.get(one.attribute, CellDistance(one.attribute, one.t, 0.0, 0))
        distances[one.attribute] = CellDistance(
            one.attribute,
            min(before.t, one.t),
            max(before.largest_emd, float(one.distances[held].max(initial=0.0))),
            before.cells_above + int(one.is_above[held].sum()),
        )
    return tuple(distances.values())


def _count_left(sizes: Int64, is_left: Bools, is_failing: Bools) -> LeftPersons | None:
    """Count the persons who are not in the newest release any more, and those who are found."""
    if not is_left.any():
        return None
    return LeftPersons(
        persons=int(sizes[is_left].sum()),
        cells=int(is_left.sum()),
        failing_cells=int((is_failing & is_left).sum()),
        found=int(sizes[is_failing & is_left].sum()),
    )
