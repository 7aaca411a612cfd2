"""Units: persons who are in one cell of the earlier releases, and have to stay in one class."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tclose.model.array_types import Int64, Integers
from tclose.passes.persons.person_numbers import PersonCounts
from tclose.passes.plan.coarse_tree import count_regions
from tclose.passes.plan.plan import Plan, UnitRegions
from tclose.passes.series.kept_records import find_earlier
from tclose.passes.series.link_persons import SeriesLink, check_window
from tclose.passes.series.series_cells import (
    ABSENT_CLASS,
    KnownRelease,
    find_cells,
    number_densely,
)
from tclose.passes.series.window.earlier_registers import REGISTERED
from tclose.passes.series.window.placed_window import PlacedWindow
from tclose.passes.series.window.window_persons import find_own
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import Task

# int32 (persons,): the unit of each person by her number, -1 of those in no earlier release.
UNITS = FileArtifact("unit/units", ArrayFile, version=2)
# int32 (persons,): the number in the window of each person by that in the plan.
OWN_PERSONS = FileArtifact("unit/own-persons", ArrayFile)
# int64 (2, releases, persons), where departures are united: the class of each person in each
# earlier release, -1 where she was absent, and how many persons of that class are not here.
EARLIER = FileArtifact("unit/earlier", ArrayFile)


@dataclass(frozen=True)
class UnitInput:
    """The persons of a release, as the plan numbers them, and of a window's hashes.

    ``of_ranges``: persons of the window in each range of hashes; ``least_new``: newcomers who are a
    region; ``are_united``: if it is told what classes of earlier releases persons were in.
    """

    persons: PersonCounts
    of_ranges: tuple[int, ...]
    least_new: int
    are_united: bool


def unit_task(workspace: Workspace, item: UnitInput, pending: PendingFiles) -> UnitRegions:
    """Find the unit of each person of a release; the regions that whole units make."""
    n_persons = sum(item.of_ranges)
    persons = find_own(workspace, item.persons, item.of_ranges)
    pending.new(OWN_PERSONS).write(persons)
    window = PlacedWindow(workspace, workspace.load(REGISTERED), n_persons)
    cells = find_cells(window, n_persons)
    cells[~find_earlier(window, n_persons)] = -1
    units = number_densely(cells[persons])
    del cells
    pending.new(UNITS).write(units)
    if item.are_united:
        pending.new(EARLIER).write(_place_earlier(window, persons))
    return cut_units(units, item.least_new)


UNIT_TASK = Task("unit", "finding units", unit_task, (UNITS, OWN_PERSONS, EARLIER), is_large=True)


def find_units(context: PassContext, plan: Plan, series: tuple[SeriesLink, ...]) -> Plan:
    """Find the unit of each person of a release that has earlier ones in its series.

    Returns
    -------
    The plan with regions of units
    """
    if not series or not series[0].window.releases:
        return plan
    check_window(context.run, series[0].window)
    assert plan.persons is not None
    are_united = series[0].united_k > 0
    item = UnitInput(plan.persons, series[0].of_ranges, 2 * series[0].made_k, are_united)
    [regions] = context.map(UNIT_TASK, [item])
    if are_united or len(plan.release_partitions) > 1:
        return join_regions(plan)
    whole = plan.release_partitions[0]
    whole = replace(whole, n_regions=regions.n_regions, unit_regions=regions)
    return replace(plan, release_partitions=(whole,))


def join_regions(plan: Plan) -> Plan:
    """The plan with one region: records that have to stay together may be anywhere in the table."""
    whole = (replace(partition, n_regions=1) for partition in plan.release_partitions)
    return replace(plan, release_partitions=tuple(whole))


def cut_units(units: Integers, least_new: int) -> UnitRegions:
    """Regions of about as many persons each, whole units by their numbers; then of newcomers.

    Units are numbered by their classes in the oldest release of the window, then in the next one:
    classes are in the order of what they release, so those of a region are near each other. Where
    most persons are known there are as many regions of them as of the release by itself, so that
    none takes more memory.

    Parameters
    ----------
    units : int64 (persons,), -1 of newcomers
    least_new : newcomers who are a region
    """
    through = np.cumsum(np.bincount(units[units >= 0], minlength=1))
    n_known = int(through[-1])
    n_new = units.size - n_known
    n_regions = count_regions(units.size if 2 * n_known >= units.size else n_known)
    begins = np.array([n_known * i // n_regions for i in range(n_regions)])
    first_units = np.unique(np.searchsorted(through, begins, side="right"))[:n_known]
    n_regions_new = count_regions(n_new) if n_new >= least_new or not n_known else 0
    return UnitRegions(tuple(first_units.tolist()), n_regions_new, n_new)


def load_units(workspace: Workspace, plan: Plan, persons: Int64) -> Int64 | None:
    """The unit of each of some persons, given by their numbers, where regions are of units."""
    if plan.release_partitions[0].unit_regions is None:
        return None
    units: Int64 = np.asarray(workspace.file(UNITS, 0).read())[persons].astype(np.int64)
    return units


def _place_earlier(window: Sequence[KnownRelease], persons: Integers) -> Int64:
    """Return what `EARLIER` has of the persons of a release, given by their numbers: int64 (n,)."""
    placed = np.zeros((2, len(window), persons.size), dtype=np.int64)
    for r, release in enumerate(window):
        classes = release.classes[persons]
        there = classes != ABSENT_CLASS
        gone = np.bincount(release.row_classes)
        gone -= np.bincount(classes[there], minlength=gone.size)
        placed[0, r] = classes
        placed[1, r, there] = gone[classes[there]]
    return placed
