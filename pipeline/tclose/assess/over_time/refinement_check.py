"""(k', t')-closeness of the common refinement of releases, decided exactly.

Every cell needs k' persons, and in every release in which it is present each confidential attribute
has to be distributed in the cell within t' of the release's table. Each published class is a union
of cells, so whatever all releases say together follows from the table "cell, values". Unions of
cells keep both, so that subsets of the releases hold it too.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa

from tclose.assess.any_table import check_rows
from tclose.assess.over_time.attack_result import CellDistance, RefinementCheck
from tclose.assess.over_time.cells import Membership, first_cell, refine_cells
from tclose.data.files.column_names import free_name
from tclose.model.array_types import Int64
from tclose.model.attributes import Attribute
from tclose.model.verification import Verdict


def check_refinement(
    memberships: Sequence[Membership],
    rows: Sequence[tuple[pa.Table, Int64]],
    attributes: Sequence[Sequence[Attribute]],
    k: int,
    t: Fraction | None,
) -> RefinementCheck:
    """Decide whether cells have k persons, and are within t of every release.

    Parameters
    ----------
    memberships : the one class of each person in each release
    rows : of each release the confidential values, and the person of each row, int64 (n,)
    attributes : the confidential attributes of each release, each with its ``max_emd`` or None
    t : for all of them, or None for the t of each; those that have none are left out

    Raises
    ------
    DataError
        Values without a place in their order.
    """
    cells = first_cell(memberships[0].n_persons)
    for membership in memberships:
        cells = refine_cells(cells, membership)
    verdicts = [
        _check_release(table, cells.cell[persons], _limit(of, table, t), k)
        for (table, persons), of in zip(rows, attributes, strict=True)
    ]
    sizes = cells.sizes
    return RefinementCheck(
        k=k,
        cells=sizes.size,
        smallest=int(sizes.min()),
        below_k=int((sizes < k).sum()),
        distances=_merge_distances(verdicts),
    )


def _limit(attributes: Sequence[Attribute], table: pa.Table, t: Fraction | None) -> list[Attribute]:
    """The attributes of the table that are held to a t, with it."""
    there = [a for a in attributes if a.name in table.column_names and a.max_emd is not None]
    return there if t is None else [replace(attribute, max_emd=t) for attribute in there]


def _check_release(
    table: pa.Table, cells: Int64, attributes: Sequence[Attribute], k: int
) -> Verdict:
    name = free_name("cell", table.column_names)
    verdict, _ = check_rows(table.append_column(name, pa.array(cells)), [name], attributes, k)
    return verdict


def _merge_distances(verdicts: Sequence[Verdict]) -> tuple[CellDistance, ...]:
    """The worst of each attribute over all releases."""
    distances: dict[str, CellDistance] = {}
    for one in (attribute for verdict in verdicts for attribute in verdict.attributes):
        before = distances.get(one.name, CellDistance(one.name, float(one.max_emd), 0.0, 0))
        distances[one.name] = CellDistance(
            one.name,
            min(before.t, float(one.max_emd)),
            max(before.largest_emd, one.largest_emd),
            before.cells_above + one.n_violating,
        )
    return tuple(distances.values())
