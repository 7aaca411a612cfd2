"""The records of a table that are released, chosen by a task: what it needs of persons is large.

The process of the command holds what was chosen alone: positions of records that are left out, rows
that are held, and some counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from tclose.model.array_types import Bools
from tclose.model.attributes import Column
from tclose.passes.series.held.held_records import (
    HANDED_OUT,
    NOBODY_LEFT,
    Departed,
    choose_held,
    find_departed,
)
from tclose.passes.series.kept_records import (
    LinkedTable,
    find_columns_above,
    find_earlier,
    keep_records,
)
from tclose.passes.series.left_persons import count_leavers, find_churn, find_forgotten
from tclose.passes.series.refused_releases import (
    check_departures,
    check_held_share,
    check_left_out,
    check_staying,
    share_staying,
)
from tclose.passes.series.series_cells import KnownRelease, find_cells
from tclose.passes.series.window.earlier_registers import REGISTERED
from tclose.passes.series.window.linked_records import read_linked
from tclose.passes.series.window.placed_window import PlacedWindow
from tclose.passes.series.window.window_persons import FORGOTTEN_PERSONS, TABLE_PERSONS
from tclose.policy.sections.privacy_settings import OverTimeSettings
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace
from tclose.runtime.free_memory import free_memory
from tclose.runtime.tasks import Task

LEFT_OUT = FileArtifact("choose/left-out", ArrayFile)  # int64 (n,): positions in the input
# Of the rows of the release before that are held, int64 (2, n): which, and in how many releases.
HELD_AGES = FileArtifact("choose/held", ArrayFile)


@dataclass(frozen=True)
class ChoiceInput:
    """The demands on the records of a table.

    ``columns``: the confidential ones; ``limits``: the t of each name over time; ``n_persons``: of
    the window and the table; ``may_hold``: if persons who left may be held from the release before.
    """

    settings: OverTimeSettings
    columns: tuple[Column, ...]
    limits: dict[str, Fraction]
    n_persons: int
    n_partitions: int
    may_hold: bool

    @property
    def limits_of_columns(self) -> tuple[Fraction, ...]:
        """The t of each column over time."""
        return tuple(self.limits[column.name] for column in self.columns)


@dataclass(frozen=True)
class Choice:
    """Numbers of records left out and held, and how persons come and go; as in `SeriesLink`."""

    n_left_out: int
    n_held: int
    stalest: int
    churn: float
    n_leavers: int
    n_classes_left: int
    n_forgotten: int
    share_gone: float
    share_new: float


@dataclass(frozen=True, eq=False)
class _Records:
    """The records of a table beside the earlier releases of its window.

    ``is_forgotten`` bool (n,): whose persons were forgotten in a register; ``in_last``: whether
    somebody was in that of the release before, so that nobody is held.
    """

    table: LinkedTable
    earlier: Sequence[KnownRelease]
    is_forgotten: Bools
    in_last: bool
    n_persons: int


def choose_task(workspace: Workspace, item: ChoiceInput, pending: PendingFiles) -> Choice | None:
    """Choose the records that are left out, and the rows that are held; None if rows are others.

    That is, if the release before was handed out with other rows than its register has.

    Raises
    ------
    InfeasibleError
        Too many records would have to be left out; or persons leave in a way that is refused.
    """
    records = _read_records(workspace, item)
    departed = _find_departed(workspace, item, records)
    if departed is None:
        return None
    left_out, held = _choose(records, departed, item.settings)
    del departed
    free_memory()
    check_held_share(held.persons.size, int((~left_out).sum()), item.settings.most_held)
    positions = read_linked(workspace, item.n_partitions)["position"].to_numpy()[left_out]
    pending.new(LEFT_OUT).write(positions)
    pending.new(HELD_AGES).write(np.stack([held.rows, held.ages.astype(np.int64)]))
    return _describe(records, left_out, held, item.settings)


CHOOSE_TASK = Task("choose", "choosing records", choose_task, (LEFT_OUT, HELD_AGES), is_large=True)


def _read_records(workspace: Workspace, item: ChoiceInput) -> _Records:
    persons = workspace.file(TABLE_PERSONS, 0).read()
    linked = read_linked(workspace, item.n_partitions)
    values = [linked[f"v{a}"].combine_chunks() for a in range(len(item.columns))]
    registered = workspace.load(REGISTERED)
    return _Records(
        table=LinkedTable(persons, item.columns, values, item.limits_of_columns),
        earlier=PlacedWindow(workspace, registered, item.n_persons, item.limits),
        is_forgotten=find_forgotten(
            persons, workspace.file(FORGOTTEN_PERSONS, 0).read(), item.n_persons
        ),
        in_last=bool(registered) and len(registered[-1].forgotten) > 0,
        n_persons=item.n_persons,
    )


def _find_departed(workspace: Workspace, item: ChoiceInput, records: _Records) -> Departed | None:
    """The persons who left since the release before, where their records may be held."""
    if not item.may_hold:
        return NOBODY_LEFT
    handed_out, before = workspace.file(HANDED_OUT, 0), records.earlier[-1]
    return find_departed(handed_out, before, records.table, has_forgotten=records.in_last)


def _choose(
    records: _Records, departed: Departed, settings: OverTimeSettings
) -> tuple[Bools, Departed]:
    """Choose the records that are not released, bool (n,), and who of those who left is held."""
    earlier, n_records = records.earlier, records.table.persons.size
    if not earlier:
        return np.zeros(n_records, dtype=np.bool_), NOBODY_LEFT
    table = departed.join(records.table)
    persons = table.persons
    staying = share_staying(earlier[-1], persons[:n_records])
    check_staying(staying)
    cells = find_cells(earlier, records.n_persons)
    free_memory()
    is_held = choose_held(earlier, cells, persons[n_records:], persons[departed.moved], settings.k)
    first = np.append(~records.is_forgotten, is_held)
    is_kept = keep_records(
        table, earlier, cells, settings.k, departures=settings.departures, first=first
    )
    left_out = ~is_kept[:n_records]
    above = partial(find_columns_above, table, earlier, cells, first, settings.k)
    n_left_out = int(left_out.sum())
    check_left_out(
        earlier, n_left_out, n_records, staying, settings, above, has_forgotten=records.in_last
    )
    check_departures(earlier, cells, persons[is_kept], settings)
    return left_out, departed.take(is_kept[n_records:])


def _describe(
    records: _Records, left_out: Bools, held: Departed, settings: OverTimeSettings
) -> Choice:
    released = [records.table.persons[~left_out], held.persons]
    n_leavers, n_classes_left = count_leavers(released, records.earlier, settings.k)
    share_gone, share_new = _share_turnover(records)
    return Choice(
        n_left_out=int(left_out.sum()),
        n_held=held.persons.size,
        stalest=int(held.ages.max(initial=0)),
        churn=find_churn(settings, records.earlier),
        n_leavers=n_leavers,
        n_classes_left=n_classes_left,
        n_forgotten=int(records.is_forgotten.sum()),
        share_gone=share_gone,
        share_new=share_new,
    )


def _share_turnover(records: _Records) -> tuple[float, float]:
    """Shares of the release before that are gone, and of the records that are of new persons."""
    earlier, persons = records.earlier, records.table.persons
    if not earlier or not persons.size:
        return 0.0, 0.0
    is_known = find_earlier(earlier, records.n_persons)[persons]
    return 1.0 - share_staying(earlier[-1], persons), 1.0 - float(is_known.mean())
