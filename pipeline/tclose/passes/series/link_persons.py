"""Links of the persons of a table to earlier releases of its series, and records to be left out.

What can be released together with the earlier releases is decided before anything is counted: a
record that is left out is read without its person from then on, and so is not complete.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from tclose.data.files.input_partitions import leave_out, read_partition
from tclose.data.value_counts import complete_records
from tclose.errors import InfeasibleError
from tclose.model.input_pieces import Partition
from tclose.passes.persons.named_key import check_register_key, identify_key
from tclose.passes.persons.person_keys import PERSON_KEY, hash_persons
from tclose.passes.series.headroom import choose_size
from tclose.passes.series.held.handed_out import HandedOut, open_handed_out
from tclose.passes.series.held.held_records import (
    NOBODY_LEFT,
    Departed,
    add_held,
    choose_held,
    find_departed,
    released_types,
)
from tclose.passes.series.kept_records import LinkedTable, keep_records
from tclose.passes.series.left_persons import count_leavers, find_churn, find_forgotten
from tclose.passes.series.refused_releases import (
    check_departures,
    check_held_share,
    check_left_out,
    check_staying,
    share_staying,
)
from tclose.passes.series.series_cells import Bools, KnownRelease, find_cells
from tclose.passes.series.series_verdict import DROP, HOLD, UNITE
from tclose.passes.series.window_persons import (
    LINKED_HASHES,
    PlacedWindow,
    WindowPersons,
    number_window,
    read_registers,
)
from tclose.passes.summarise.records import Source, kept_positions
from tclose.policy.policy import Policy
from tclose.policy.sections.privacy_settings import OverTimeSettings
from tclose.releases.series.register_file import Centre, ReleasedPersons
from tclose.releases.series.series_history import (
    SeriesRelease,
    SeriesWindow,
    find_window,
)
from tclose.runtime.artifacts.arrays import TableFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, PendingFiles, Workspace
from tclose.runtime.free_memory import free_memory
from tclose.runtime.pipeline import PassContext
from tclose.runtime.run import Run
from tclose.runtime.tasks import Task

# Of a partition's complete records: position, confidential values.
LINKED = FileArtifact("link/persons", TableFile)


@dataclass(frozen=True)
class SeriesLink:
    """A release's place in its series.

    ``made_k``: persons that classes are made for; ``n_left_out``: records that are not released;
    ``churn``: the share of the persons that is taken to leave from one release to the next;
    ``united_k``: persons that have to leave united classes together, 0 if none are united;
    ``n_leavers``: persons of the release before who are not released; ``n_classes_left``: classes
    of it that 1 to k' - 1 of them left; ``n_forgotten``: of the records left out, those of persons
    who were forgotten on request; ``key_id``: of the key that persons are hashed with; ``n_held``:
    records of persons who left, held from the release before; ``stalest``: for how many releases
    one of them has been, at most; ``centres``: what the release before released of the
    quasi-identifiers; ``limits``: the t of each confidential attribute over time; ``of_ranges``:
    persons in each range of hashes that those of the window and the table were ranked in.
    """

    window: SeriesWindow
    made_k: int
    n_left_out: int
    churn: float
    united_k: int
    n_leavers: int
    n_classes_left: int
    n_forgotten: int
    key_id: str
    n_held: int = 0
    stalest: int = 0
    centres: tuple[Centre, ...] = ()
    limits: tuple[Fraction, ...] = ()
    of_ranges: tuple[int, ...] = ()


# One, or none of a release that stands alone.
SERIES = Artifact("series", tuple[SeriesLink, ...], version=4)


def limits_over_time(policy: Policy, settings: OverTimeSettings) -> dict[str, Fraction]:
    """The t that each confidential attribute is held to over time."""
    own = {name: policy.attributes[name].t for name in policy.confidential}
    return {
        name: settings.limit(None if t is None else Fraction(str(t))) for name, t in own.items()
    }


def limits_made_for(policy: Policy) -> dict[str, Fraction]:
    """The t that classes are made for, where it is less than they are held to."""
    settings = policy.privacy.over_time
    if settings is None:
        return {}
    return {name: settings.room * t for name, t in limits_over_time(policy, settings).items()}


def check_window(run: Run, window: SeriesWindow) -> None:
    """See that the earlier releases are those that were there before.

    Raises
    ------
    InfeasibleError
        They are not.
    """
    if look_up_window(run)[0] != window:
        raise InfeasibleError(
            f"series {window.series!r}: another release was published meanwhile; run again"
        )


def look_up_window(run: Run) -> tuple[SeriesWindow, tuple[SeriesRelease, ...]]:
    """The earlier releases that a run is held to."""
    policy, repository = run.policy, run.repository
    settings = policy.privacy.over_time
    assert settings is not None
    own = repository.release(run.release_id)
    return find_window(repository.output, policy.series_name, settings.window, own=own)


def link_task(workspace: Workspace, item: tuple[Partition, Source], pending: PendingFiles) -> int:
    """Hash the persons of a partition's complete records; how many records there are."""
    partition, source = item
    assert source.person is not None
    table = read_partition(partition, source.reading.of([c.name for c in source.checked]))
    positions = kept_positions(table, source.checked, partition.first_position)
    mask = complete_records(table, source.checked)
    records = table if mask is None else table.filter(mask)
    hashes, places = hash_persons(records, source.person, workspace.load_shared(PERSON_KEY))
    pending.new(LINKED_HASHES).write(hashes.T[:, places])
    linked = pa.table({"position": positions})
    for a, column in enumerate(source.confidential):
        linked = linked.append_column(f"v{a}", records[column.name])
    pending.new(LINKED).write(linked)
    return len(linked)


LINK_TASK = Task("link", "linking persons", link_task, (LINKED, LINKED_HASHES), version=2)


def link_series(
    context: PassContext, source: Source, partitions: tuple[Partition, ...]
) -> tuple[Source, tuple[Partition, ...], tuple[SeriesLink, ...]]:
    """The source and its partitions without the records that have to be left out; the place.

    Raises
    ------
    PolicyError
        A person has several records, or the registers are of another key.
    InfeasibleError
        Too many records would have to be left out; or persons leave in a way that is refused.
    OutputError
        An earlier release of the window is not at hand.
    """
    run = context.run
    settings = run.policy.privacy.over_time
    if settings is None:
        return source, partitions, ()
    linked = _link_records(context, source, partitions, limits_over_time(run.policy, settings))
    handed_out, departed = _find_departed(context, source, linked)
    left_out, held = _choose_left_out(linked, departed, settings)
    free_memory()
    check_held_share(held.persons.size, int((~left_out).sum()), settings.most_held)
    if left_out.any():
        positions = _read_linked(context.workspace, len(partitions))["position"].to_numpy()
        partitions = leave_out(partitions, positions[left_out])
    key_id = identify_key(context.workspace.load_shared(PERSON_KEY))
    link = _describe(linked, run.policy, left_out, held, key_id)
    person = None if source.person is None else source.person.name
    hiding = replace(source, reading=replace(source.reading, hidden=person))
    partitions = add_held(context, source, partitions, held, handed_out, len(linked.releases))
    del linked, departed, held
    free_memory()  # a column of the whole table, and what it took
    return hiding, partitions, (link,)


@dataclass(frozen=True, eq=False)
class _LinkedRecords:
    """The records of a table beside the earlier releases of its window.

    ``registered``: what the registers say besides their rows; ``earlier``: the rows, over all
    ``persons``.
    """

    window: SeriesWindow
    releases: tuple[SeriesRelease, ...]
    registered: tuple[ReleasedPersons, ...]
    persons: WindowPersons
    table: LinkedTable
    earlier: Sequence[KnownRelease]


def _link_records(
    context: PassContext,
    source: Source,
    partitions: tuple[Partition, ...],
    limits: dict[str, Fraction],
) -> _LinkedRecords:
    context.map(
        LINK_TASK,
        [(partition, source) for partition in partitions],
        sizes=[partition.n_records for partition in partitions],
    )
    window, releases = look_up_window(context.run)
    registered = read_registers(context, releases)
    _check_keys(context, window, registered)
    persons = number_window(context, len(releases), len(partitions))
    records = _read_linked(context.workspace, len(partitions))
    values = [records[f"v{a}"].combine_chunks() for a in range(len(source.confidential))]
    table = LinkedTable.of(persons.table, values, source.confidential, limits)
    earlier = PlacedWindow(context.workspace, registered, persons.n_persons, limits)
    return _LinkedRecords(window, releases, registered, persons, table, earlier)


def _read_linked(workspace: Workspace, n_partitions: int) -> pa.Table:
    return pa.concat_tables([workspace.file(LINKED, i).read() for i in range(n_partitions)])


def _find_departed(
    context: PassContext, source: Source, linked: _LinkedRecords
) -> tuple[HandedOut | None, Departed]:
    """The release before, and who left since, where their records may be held."""
    policy = context.run.policy
    settings = policy.privacy.over_time
    if settings is None or settings.departures != HOLD or not linked.earlier:
        return None, NOBODY_LEFT
    handed_out = open_handed_out(linked.releases, policy, released_types(source))
    has_forgotten = len(linked.registered[-1].forgotten) > 0
    before = linked.earlier[-1]
    return handed_out, find_departed(handed_out, before, linked.table, has_forgotten=has_forgotten)


def _describe(
    linked: _LinkedRecords, policy: Policy, left_out: Bools, held: Departed, key_id: str
) -> SeriesLink:
    """The place of a release in its series."""
    settings = policy.privacy.over_time
    assert settings is not None
    earlier, persons = linked.earlier, linked.table.persons
    churn = find_churn(settings, earlier)
    n_leavers, n_classes_left = count_leavers(
        [persons[~left_out], held.persons], earlier, settings.k
    )
    return SeriesLink(
        window=linked.window,
        made_k=max(policy.privacy.k, choose_size(settings.k, churn, settings.window - 1)),
        n_left_out=int(left_out.sum()),
        churn=churn,
        united_k=settings.k if settings.departures == UNITE else 0,
        n_leavers=n_leavers,
        n_classes_left=n_classes_left,
        n_forgotten=int(_are_forgotten(linked).sum()),
        key_id=key_id,
        n_held=held.persons.size,
        stalest=int(held.ages.max(initial=0)),
        centres=linked.registered[-1].centres if linked.registered else (),
        limits=linked.table.limits,
        of_ranges=linked.persons.of_ranges,
    )


def _are_forgotten(linked: _LinkedRecords) -> Bools:
    """Return which records are of persons who were forgotten: bool (n,)."""
    persons = linked.persons
    return find_forgotten(persons.table, persons.forgotten, persons.n_persons)


def _check_keys(
    context: PassContext, window: SeriesWindow, earlier: Sequence[ReleasedPersons]
) -> None:
    """See that the registers are of the key that persons are hashed with now."""
    key = context.workspace.load_shared(PERSON_KEY)
    for name, persons in zip(window.releases, earlier, strict=True):
        check_register_key(context.run.policy, window.series, name, persons.key_id, key)


def _choose_left_out(
    linked: _LinkedRecords, departed: Departed, settings: OverTimeSettings
) -> tuple[Bools, Departed]:
    """Choose the records that are not released, bool (n,), and who of those who left is held."""
    earlier, n_records = linked.earlier, linked.table.persons.size
    if not earlier:
        return np.zeros(n_records, dtype=np.bool_), NOBODY_LEFT
    table = departed.join(linked.table)
    persons = table.persons
    staying = share_staying(earlier[-1], persons[:n_records])
    check_staying(staying)
    cells = find_cells(earlier, linked.persons.n_persons)
    free_memory()
    is_held = choose_held(earlier, cells, persons[n_records:], persons[departed.moved], settings.k)
    drops = settings.departures in {DROP, HOLD}
    first = np.append(~_are_forgotten(linked), is_held)
    is_kept = keep_records(
        table, earlier, cells, settings.k, departures=settings.departures, first=first
    )
    left_out = ~is_kept[:n_records]
    check_left_out(int(left_out.sum()), n_records, staying, drops=drops)
    check_departures(earlier, cells, persons[is_kept], settings)
    return left_out, departed.take(is_kept[n_records:])
