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
from tclose.passes.series.headroom import HEADROOM_T, choose_size
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
from tclose.passes.series.series_cells import (
    Bools,
    find_cells,
    number_hashes,
    place_release,
)
from tclose.passes.series.series_verdict import DROP, HOLD, UNITE
from tclose.passes.summarise.records import Source, kept_positions
from tclose.policy.policy import Policy
from tclose.policy.sections.privacy_settings import OverTimeSettings
from tclose.releases.series.register_file import Centre, ReleasedPersons, load_register
from tclose.releases.series.series_history import (
    SeriesRelease,
    SeriesWindow,
    find_window,
)
from tclose.runtime.artifacts.arrays import TableFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, PendingFiles, Workspace
from tclose.runtime.pipeline import PassContext
from tclose.runtime.run import Run
from tclose.runtime.tasks import Task

# Of a partition's complete records: position, both words of the hash, confidential values.
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
    quasi-identifiers; ``limits``: the t of each confidential attribute over time.
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


# One, or none of a release that stands alone.
SERIES = Artifact("series", tuple[SeriesLink, ...], version=3)


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
    return {name: HEADROOM_T * t for name, t in limits_over_time(policy, settings).items()}


def load_window(run: Run, window: SeriesWindow) -> list[ReleasedPersons]:
    """Read the registers of the earlier releases.

    Raises
    ------
    InfeasibleError
        They are not those that were there before.
    OutputError
        One cannot be read.
    """
    window_now, releases = look_up_window(run)
    if window_now != window:
        raise InfeasibleError(
            f"series {window.series!r}: another release was published meanwhile; run again"
        )
    return [load_register(release) for release in releases]


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
    columns = {"position": positions, "high": hashes[places, 0], "low": hashes[places, 1]}
    linked = pa.table(columns)
    for a, column in enumerate(source.confidential):
        linked = linked.append_column(f"v{a}", records[column.name])
    pending.new(LINKED).write(linked)
    return len(linked)


LINK_TASK = Task("link", "linking persons", link_task, (LINKED,))


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
    context.map(
        LINK_TASK,
        [(partition, source) for partition in partitions],
        sizes=[partition.n_records for partition in partitions],
    )
    tables = [context.workspace.file(LINKED, i).read() for i in range(len(partitions))]
    linked = pa.concat_tables(tables).combine_chunks()
    window, releases = look_up_window(run)
    limits = limits_over_time(run.policy, settings)
    table = LinkedTable.of(linked, source.confidential, limits)
    earlier = [load_register(release) for release in releases]
    _check_keys(context, window, earlier)
    churn = find_churn(settings, earlier)
    made_k = max(run.policy.privacy.k, choose_size(settings.k, churn, settings.window - 1))
    is_forgotten = find_forgotten(table, earlier)
    handed_out, departed = _find_departed(context, source, releases, earlier, table)
    left_out, held = _choose_left_out(table, departed, earlier, settings, is_forgotten)
    check_held_share(len(held.hashes), int((~left_out).sum()), settings.most_held)
    partitions = leave_out(partitions, linked["position"].to_numpy()[left_out])
    link = SeriesLink(
        window,
        made_k,
        int(left_out.sum()),
        churn,
        settings.k if settings.departures == UNITE else 0,
        *count_leavers([table.hashes[~left_out], held.hashes], earlier, settings.k),
        int(is_forgotten.sum()),
        identify_key(context.workspace.load_shared(PERSON_KEY)),
        len(held.hashes),
        int(held.ages.max(initial=0)),
        earlier[-1].centres if earlier else (),
        table.limits,
    )
    person = None if source.person is None else source.person.name
    hiding = replace(source, reading=replace(source.reading, hidden=person))
    return hiding, add_held(context, source, partitions, held, handed_out), (link,)


def _find_departed(
    context: PassContext,
    source: Source,
    releases: Sequence[SeriesRelease],
    earlier: Sequence[ReleasedPersons],
    table: LinkedTable,
) -> tuple[HandedOut | None, Departed]:
    """The release before, and who left since, where their records may be held."""
    policy = context.run.policy
    settings = policy.privacy.over_time
    if settings is None or settings.departures != HOLD or not earlier:
        return None, NOBODY_LEFT
    handed_out = open_handed_out(releases, policy, released_types(source))
    return handed_out, find_departed(handed_out, earlier[-1], table)


def _check_keys(
    context: PassContext, window: SeriesWindow, earlier: Sequence[ReleasedPersons]
) -> None:
    """See that the registers are of the key that persons are hashed with now."""
    key = context.workspace.load_shared(PERSON_KEY)
    for name, persons in zip(window.releases, earlier, strict=True):
        check_register_key(context.run.policy, window.series, name, persons.key_id, key)


def _choose_left_out(
    table: LinkedTable,
    departed: Departed,
    earlier: list[ReleasedPersons],
    settings: OverTimeSettings,
    is_forgotten: Bools,
) -> tuple[Bools, Departed]:
    """Choose the records that are not released, bool (n,), and who of those who left is held."""
    n_records = len(table.hashes)
    if not earlier:
        return np.zeros(n_records, dtype=np.bool_), NOBODY_LEFT
    table = departed.join(table)
    limits = {c.name: t for c, t in zip(table.columns, table.limits, strict=True)}
    n_persons, numbers = number_hashes([*(one.hashes for one in earlier), table.hashes])
    persons = numbers.pop()
    window = [
        place_release(one, of_one, n_persons, limits)
        for one, of_one in zip(earlier, numbers, strict=True)
    ]
    staying = share_staying(window[-1], persons[:n_records])
    check_staying(staying)
    cells = find_cells(window, n_persons)
    is_held = choose_held(window, cells, persons[n_records:], persons[departed.moved], settings.k)
    drops = settings.departures in {DROP, HOLD}
    first = np.append(~is_forgotten, is_held)
    is_kept = keep_records(
        table, window, cells, persons, settings.k, departures=settings.departures, first=first
    )
    left_out = ~is_kept[:n_records]
    check_left_out(int(left_out.sum()), n_records, staying, drops=drops)
    check_departures(window, cells, persons[is_kept], settings)
    return left_out, departed.take(is_kept[n_records:])
