"""The register of a new release: whose its rows are, as they were verified.

It is made, and judged together with the earlier releases of the window, by a task, as that takes
arrays over all persons.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.model.array_types import Int32, Int64, UInt64
from tclose.passes.persons.person_keys import load_person_key
from tclose.passes.persons.person_numbers import NUMBERED
from tclose.passes.plan.plan import PLAN, Plan
from tclose.passes.plan.plan_files import load_distributions
from tclose.passes.series.kept_centres import describe_centres
from tclose.passes.series.link_persons import SeriesLink, check_window, limits_over_time
from tclose.passes.series.series_cells import number_hashes, place_release
from tclose.passes.series.series_units import OWN_PERSONS
from tclose.passes.series.series_verdict import SeriesVerdict, judge_series
from tclose.passes.series.window.earlier_registers import REGISTERED
from tclose.passes.series.window.placed_window import PlacedWindow
from tclose.passes.summarise.input_summary import PARTITIONS
from tclose.passes.verify.person_traces import CLASS_SIZES, PERSON_CODES, ROW_PERSONS
from tclose.policy.sections.privacy_settings import OverTimeSettings
from tclose.releases.series.register_file import (
    NOBODY,
    Centre,
    ReleasedPersons,
    ValueSpace,
    write_register,
)
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, PendingFiles, Workspace
from tclose.runtime.free_memory import free_memory
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import Task

REGISTER = FileArtifact("judge/register", ArrayFile)  # uint8: the bytes of the file
HASHED_ROWS = 1 << 16  # whose hashes are looked up at once
SERIES_VERDICT = Artifact("series-verdict", tuple[SeriesVerdict, ...])  # one, or none


@dataclass(frozen=True, eq=False)
class JudgeInput:
    """A release that was verified by itself, and what is asked of it together with the others.

    ``release``: its name and id; ``limits``: the t of each name over time; ``n_classes``: of each
    key range, 0 where it is empty; ``held``: of records that are held, as in `Partition`;
    ``centres``: what the register says of the quasi-identifiers.
    """

    release: str
    series: SeriesLink
    settings: OverTimeSettings
    limits: dict[str, Fraction]
    n_classes: tuple[int, ...]
    held: Int64
    centres: tuple[Centre, ...]


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """The rows of a release in its order.

    ``persons`` int32 (n,): whose each is, by number; ``register``: the rest, without hashes.
    """

    persons: Int32
    register: ReleasedPersons


def judge_task(workspace: Workspace, item: JudgeInput, pending: PendingFiles) -> SeriesVerdict:
    """Decide whether a release holds together with the earlier ones; write its register."""
    rows = _gather_released(workspace, item)
    free_memory()
    verdict = _judge_window(workspace, item, rows)
    free_memory()
    hashes = load_hashes(workspace, workspace.load_shared(PLAN), rows.persons)
    content = write_register(replace(rows.register, hashes=hashes))
    pending.new(REGISTER).write(np.frombuffer(content, dtype=np.uint8))
    return verdict


JUDGE_TASK = Task("judge", "judging the series", judge_task, (REGISTER,), is_large=True)


def judge_release(
    context: PassContext, series: SeriesLink, n_classes: Sequence[int]
) -> SeriesVerdict:
    """Have a release judged together with the earlier ones of its window.

    Parameters
    ----------
    n_classes : of each key range, 0 where it is empty

    Raises
    ------
    InfeasibleError
        The earlier releases are not those that were there before.
    """
    run = context.run
    settings = run.policy.privacy.over_time
    assert settings is not None
    check_window(run, series.window)
    item = JudgeInput(
        release=f"{run.policy.name}/{run.release_id}",
        series=series,
        settings=settings,
        limits=limits_over_time(run.policy, settings),
        n_classes=tuple(n_classes),
        held=np.concatenate([partition.held for partition in context.read(PARTITIONS)]),
        centres=describe_centres(context.read(PLAN).encodings, load_person_key(run)),
    )
    [verdict] = context.map(JUDGE_TASK, [item])
    return verdict


def _gather_released(workspace: Workspace, item: JudgeInput) -> ReleasedRows:
    """Return whose the rows of the key ranges are, in the release's order."""
    plan = workspace.load_shared(PLAN)
    rows, codes, first = [], [], 0
    for index, n in enumerate(item.n_classes):
        if n:
            sizes = workspace.file(CLASS_SIZES, index).read()
            persons, classes = (
                workspace.file(ROW_PERSONS, index).read(),
                np.repeat(np.arange(n), sizes),
            )
            rows.append(np.vstack([persons, classes + first]).astype(np.int32))
            codes.append(workspace.file(PERSON_CODES, index).read().astype(np.int32))
            first += n
    of_rows, classes = np.concatenate(rows, axis=1)
    names = tuple(encoding.column.name for encoding in plan.confidential)
    register = ReleasedPersons(
        release=item.release,
        hashes=NOBODY,
        classes=classes,
        attributes=names,
        limits=tuple(item.limits[name] for name in names),
        codes=np.concatenate(codes, axis=1),
        spaces=tuple(
            ValueSpace(table.values.size, table.metric)
            for table in load_distributions(workspace, plan)
        ),
        key_id=item.series.key_id,
        stale=_find_stale(workspace, plan, of_rows, item.held),
        centres=item.centres,
    )
    return ReleasedRows(of_rows, register)


def load_hashes(workspace: Workspace, plan: Plan, persons: Int32) -> UInt64:
    """The hashes of some persons, by their numbers: uint64 (n, 2)."""
    assert plan.persons is not None
    hashes = np.empty((persons.size, 2), dtype=np.uint64)
    for index, first in enumerate(plan.persons.firsts.tolist()):
        numbered = workspace.file(NUMBERED, index).read()
        for start in range(0, persons.size, HASHED_ROWS):
            some = persons[start : start + HASHED_ROWS]
            chosen = np.flatnonzero((some >= first) & (some < first + numbered.shape[1]))
            hashes[start + chosen] = numbered[:2, some[chosen] - first].T
    return hashes


def _find_stale(workspace: Workspace, plan: Plan, persons: Int32, held: Int64) -> Int64:
    """Count the releases that each row has been held in: int64 (n,), empty if none is."""
    if not len(held):
        return np.empty(0, dtype=np.int64)
    words = np.ascontiguousarray(held[:, :2]).view(np.uint64)
    hashes = load_hashes(workspace, plan, persons)
    n_persons, (of_held, of_rows) = number_hashes([words, hashes])
    ages = np.zeros(n_persons, dtype=np.int64)
    ages[of_held] = held[:, 2]
    stale: Int64 = ages[of_rows]
    return stale


def _judge_window(workspace: Workspace, item: JudgeInput, rows: ReleasedRows) -> SeriesVerdict:
    """Decide whether a release holds together with the earlier ones of its window."""
    register, settings = rows.register, item.settings
    n_persons, persons = int(rows.persons.max()) + 1, rows.persons
    limits = dict(zip(register.attributes, register.limits, strict=True))
    registered: tuple[ReleasedPersons, ...] = ()
    if item.series.window.releases:
        n_persons = sum(item.series.of_ranges)
        persons = workspace.file(OWN_PERSONS, 0).read()[rows.persons]
        registered = workspace.load(REGISTERED)
    newest = place_release(register, persons, n_persons, limits)
    placed = PlacedWindow(workspace, registered, n_persons, limits, (newest,))
    return judge_series(placed, n_persons, settings.k, settings.departures, settings.most_held)
