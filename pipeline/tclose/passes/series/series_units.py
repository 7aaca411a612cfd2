"""Units: persons who are in one cell of the earlier releases, and have to stay in one class."""

from collections.abc import Sequence

import numpy as np

from tclose.model.array_types import Int64
from tclose.passes.compare.keyed_hashes import UInt64
from tclose.passes.persons.person_numbers import NUMBERED
from tclose.passes.plan.plan import Plan
from tclose.passes.series.link_persons import SeriesLink, load_window
from tclose.passes.series.series_cells import (
    ABSENT_CLASS,
    KnownRelease,
    find_cells,
    number_hashes,
    place_release,
)
from tclose.passes.series.series_verdict import UNITE
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import FileArtifact, Workspace
from tclose.runtime.pipeline import PassContext

# int64 (persons,): the unit of each person by her number, -1 of those in no earlier release.
UNITS = FileArtifact("plan/units", ArrayFile)
# int64 (2, releases, persons), where departures are united: the class of each person in each
# earlier release, -1 where she was absent, and how many persons of that class are not here.
EARLIER = FileArtifact("plan/earlier", ArrayFile)


def load_hashes(workspace: Workspace, plan: Plan) -> UInt64:
    """The hashes of all persons in the order of their numbers: uint64 (persons, 2)."""
    assert plan.persons is not None
    ranges = range(len(plan.persons.of_ranges))
    rows = [np.asarray(workspace.file(NUMBERED, index).read())[:2].T for index in ranges]
    return np.concatenate(rows)


def write_units(context: PassContext, plan: Plan, series: tuple[SeriesLink, ...]) -> None:
    """Find the unit of each person of a release that has earlier ones in its series."""
    if not series or not series[0].window.releases:
        return
    earlier = load_window(context.run, series[0].window)
    hashes = load_hashes(context.workspace, plan)
    n_persons, numbers = number_hashes([*(one.hashes for one in earlier), hashes])
    persons = numbers.pop()
    window = [
        place_release(one, of_one, n_persons) for one, of_one in zip(earlier, numbers, strict=True)
    ]
    del earlier  # hashes are the larger part of a window
    is_known = np.zeros(n_persons, dtype=np.bool_)
    for release in window:
        is_known |= release.classes != ABSENT_CLASS
    cells = np.where(is_known, find_cells(window, n_persons), -1)[persons]
    context.workspace.new_file(UNITS).write(_number_densely(cells))
    settings = context.run.policy.privacy.over_time
    if settings is not None and settings.departures == UNITE:
        context.workspace.new_file(EARLIER).write(_place_earlier(window, persons))


def _place_earlier(window: Sequence[KnownRelease], persons: Int64) -> Int64:
    """Return what `EARLIER` has of the persons of a release, given by their numbers: int64 (n,)."""
    placed = np.zeros((2, len(window), persons.size), dtype=np.int64)
    for r, release in enumerate(window):
        classes = release.classes[persons]
        there = classes != ABSENT_CLASS
        gone = np.bincount(release.classes[release.rows])
        gone -= np.bincount(classes[there], minlength=gone.size)
        placed[0, r] = classes
        placed[1, r, there] = gone[classes[there]]
    return placed


def _number_densely(cells: Int64) -> Int64:
    units = np.full(cells.size, -1, dtype=np.int64)
    known = cells >= 0
    units[known] = np.unique(cells[known], return_inverse=True)[1].reshape(-1)
    return units
