"""The register of a new release: whose its rows are, as they were verified."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.model.array_types import Int32, Int64
from tclose.model.input_pieces import Partition
from tclose.passes.compare.keyed_hashes import UInt64
from tclose.passes.persons.person_keys import PERSON_KEY
from tclose.passes.persons.person_numbers import NUMBERED
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.plan_files import load_distributions
from tclose.passes.series.earlier_registers import REGISTERED
from tclose.passes.series.kept_centres import describe_centres
from tclose.passes.series.link_persons import SeriesLink, check_window, limits_over_time
from tclose.passes.series.placed_window import PlacedWindow
from tclose.passes.series.series_cells import number_hashes, place_release
from tclose.passes.series.series_units import OWN_PERSONS
from tclose.passes.series.series_verdict import SeriesVerdict, judge_series
from tclose.passes.verify.person_traces import PERSON_CODES, PERSON_ROWS
from tclose.releases.series.register_file import NOBODY, ReleasedPersons, ValueSpace, write_register
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, Workspace
from tclose.runtime.pipeline import PassContext

REGISTER = FileArtifact("verify/register", ArrayFile)  # uint8: the bytes of the file
HASHED_ROWS = 1 << 16  # whose hashes are looked up at once
SERIES_VERDICT = Artifact("series-verdict", tuple[SeriesVerdict, ...])  # one, or none


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """The rows of a release in its order.

    ``persons`` int32 (n,): whose each is, by number; ``register``: the rest, without hashes.
    """

    persons: Int32
    register: ReleasedPersons


def gather_released(
    context: PassContext,
    plan: Plan,
    n_classes: Sequence[int],
    key_id: str,
    partitions: Sequence[Partition],
) -> ReleasedRows:
    """Return whose the rows of the key ranges are, in the release's order.

    Parameters
    ----------
    n_classes : of each key range, 0 where it is empty
    key_id : of the key that persons are hashed with
    partitions : of the input, and of rows that are held
    """
    run, workspace = context.run, context.workspace
    settings = run.policy.privacy.over_time
    assert settings is not None
    rows, codes, first = [], [], 0
    for index, n in enumerate(n_classes):
        if n:
            persons, classes = workspace.file(PERSON_ROWS, index).read()
            rows.append(np.vstack([persons, classes + first]).astype(np.int32))
            codes.append(workspace.file(PERSON_CODES, index).read().astype(np.int32))
            first += n
    of_rows, classes = np.concatenate(rows, axis=1)
    names = tuple(encoding.column.name for encoding in plan.confidential)
    limits: dict[str, Fraction] = limits_over_time(run.policy, settings)
    register = ReleasedPersons(
        release=f"{run.policy.name}/{run.release_id}",
        hashes=NOBODY,
        classes=classes,
        attributes=names,
        limits=tuple(limits[name] for name in names),
        codes=np.concatenate(codes, axis=1),
        spaces=tuple(
            ValueSpace(table.values.size, table.metric)
            for table in load_distributions(workspace, plan)
        ),
        key_id=key_id,
        stale=_find_stale(workspace, plan, of_rows, partitions),
        centres=describe_centres(plan.encodings, workspace.load_shared(PERSON_KEY)),
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


def _find_stale(
    workspace: Workspace,
    plan: Plan,
    persons: Int32,
    partitions: Sequence[Partition],
) -> Int64:
    """Count the releases that each row has been held in: int64 (n,), empty if none is."""
    held = np.concatenate([partition.held for partition in partitions])
    if not len(held):
        return np.empty(0, dtype=np.int64)
    words = np.ascontiguousarray(held[:, :2]).view(np.uint64)
    hashes = load_hashes(workspace, plan, persons)
    n_persons, (of_held, of_rows) = number_hashes([words, hashes])
    ages = np.zeros(n_persons, dtype=np.int64)
    ages[of_held] = held[:, 2]
    stale: Int64 = ages[of_rows]
    return stale


def judge_window(context: PassContext, series: SeriesLink, rows: ReleasedRows) -> SeriesVerdict:
    """Decide whether a release holds together with the earlier ones of its window."""
    settings = context.run.policy.privacy.over_time
    assert settings is not None
    check_window(context.run, series.window)
    register, n_persons, persons = rows.register, int(rows.persons.max()) + 1, rows.persons
    limits = dict(zip(register.attributes, register.limits, strict=True))
    registered: tuple[ReleasedPersons, ...] = ()
    if series.window.releases:
        n_persons = sum(series.of_ranges)
        persons = context.workspace.file(OWN_PERSONS, 0).read()[rows.persons]
        registered = context.read(REGISTERED)
    newest = place_release(register, persons, n_persons, limits)
    placed = PlacedWindow(context.workspace, registered, n_persons, limits, (newest,))
    return judge_series(placed, n_persons, settings.k, settings.departures, settings.most_held)


def write_rows(workspace: Workspace, plan: Plan, rows: ReleasedRows) -> bytes:
    """The bytes of the register of a release."""
    return write_register(replace(rows.register, hashes=load_hashes(workspace, plan, rows.persons)))
