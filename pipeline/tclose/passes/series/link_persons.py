"""Links of the persons of a table to earlier releases of its series, and records to be left out.

What can be released together with the earlier releases is decided before anything is counted: a
record that is left out is read without its person from then on, and so is not complete.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tclose.data.files.input_partitions import leave_out, read_partition
from tclose.data.value_counts import complete_records
from tclose.errors import InfeasibleError
from tclose.model.array_types import Int64
from tclose.model.input_pieces import Partition
from tclose.passes.persons.named_key import check_register_key, identify_key
from tclose.passes.persons.person_keys import PERSON_KEY, hash_persons
from tclose.passes.series.headroom import HEADROOM_T, choose_size
from tclose.passes.series.kept_records import LinkedTable, keep_records
from tclose.passes.series.series_cells import (
    Bools,
    KnownRelease,
    find_cells,
    measure_cells,
    number_hashes,
    place_release,
)
from tclose.passes.series.series_verdict import DROP, REFUSE, UNITE
from tclose.passes.summarise.records import Source, kept_positions
from tclose.policy.policy import Policy
from tclose.policy.sections.privacy_settings import OverTimeSettings
from tclose.releases.series.register_file import ReleasedPersons, load_register
from tclose.releases.series.series_history import (
    SeriesRelease,
    SeriesWindow,
    find_window,
)
from tclose.runtime.arrays import TableFile
from tclose.runtime.artifacts import Artifact, FileArtifact, PendingFiles, Workspace
from tclose.runtime.pipeline import PassContext
from tclose.runtime.run import Run
from tclose.runtime.tasks import Task

MOST_LEFT_OUT = Fraction(1, 10)  # of the records
MOST_DROPPED = Fraction(1, 2)  # where cells are dropped
LEAST_STAYING = 0.5  # of the persons of the release before
EXPECTED_CHURN = 0.02  # where none is said, and none was seen
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
    who were forgotten on request; ``key_id``: of the key that persons are hashed with.
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


SERIES = Artifact("series", tuple[SeriesLink, ...])  # one, or none of a release that stands alone


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
    found, releases = look_up_window(run)
    if found != window:
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
    kept = table if mask is None else table.filter(mask)
    hashes, places = hash_persons(kept, source.person, workspace.load_shared(PERSON_KEY))
    columns = {"position": positions, "high": hashes[places, 0], "low": hashes[places, 1]}
    linked = pa.table(columns)
    for a, column in enumerate(source.confidential):
        linked = linked.append_column(f"v{a}", kept[column.name])
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
    churn = _find_churn(settings, earlier)
    made_k = max(run.policy.privacy.k, choose_size(settings.k, churn, settings.window - 1))
    is_forgotten = _find_forgotten(table, earlier)
    left_out = _choose_left_out(table, earlier, settings, is_forgotten)
    person = None if source.person is None else source.person.name
    partitions = leave_out(partitions, linked["position"].to_numpy()[left_out])
    reading = replace(source.reading, hidden=person)
    united_k = settings.k if settings.departures == UNITE else 0
    left = _count_leavers(table.hashes[~left_out], earlier, settings.k)
    link = SeriesLink(
        window,
        made_k,
        int(left_out.sum()),
        churn,
        united_k,
        *left,
        int(is_forgotten.sum()),
        identify_key(context.workspace.load_shared(PERSON_KEY)),
    )
    return replace(source, reading=reading), partitions, (link,)


def _check_keys(
    context: PassContext, window: SeriesWindow, earlier: Sequence[ReleasedPersons]
) -> None:
    """See that the registers are of the key that persons are hashed with now."""
    key = context.workspace.load_shared(PERSON_KEY)
    for name, persons in zip(window.releases, earlier, strict=True):
        check_register_key(context.run.policy, window.series, name, persons.key_id, key)


def _find_churn(settings: OverTimeSettings, earlier: list[ReleasedPersons]) -> float:
    """The share of the persons that leaves: as the policy says, or as was seen in the window.

    Registers have those who were released, and so do not tell who left from who was dropped.
    """
    if settings.churn is not None:
        return settings.churn
    if settings.departures == DROP:
        return EXPECTED_CHURN
    seen = []
    for before, after in pairwise(earlier):
        n_persons = number_hashes([before.hashes, after.hashes])[0]
        seen.append((n_persons - len(after.hashes)) / len(before.hashes))
    return sum(seen) / len(seen) if seen else EXPECTED_CHURN


def _count_leavers(hashes: np.ndarray, earlier: list[ReleasedPersons], k: int) -> tuple[int, int]:
    """Persons of the release before who are not released; its classes that 1 to k - 1 left."""
    if not earlier:
        return 0, 0
    last = earlier[-1]
    _, (before, now) = number_hashes([last.hashes, hashes])
    gone = ~np.isin(before, now)
    lost = np.bincount(last.classes[gone], minlength=1)
    sizes = np.bincount(last.classes, minlength=lost.size)[: lost.size]
    return int(gone.sum()), int(((lost > 0) & (lost < k) & (lost < sizes)).sum())


def _find_forgotten(table: LinkedTable, earlier: list[ReleasedPersons]) -> Bools:
    """Find the records of persons who were forgotten in a register of the window: bool (n,).

    Their earlier classes are not known any more, so nothing could be held of them.
    """
    forgotten = [one.forgotten for one in earlier if len(one.forgotten)]
    if not forgotten:
        return np.zeros(len(table.hashes), dtype=np.bool_)
    _, (gone, now) = number_hashes([np.concatenate(forgotten), table.hashes])
    is_forgotten: Bools = np.isin(now, gone)
    return is_forgotten


def _choose_left_out(
    table: LinkedTable,
    earlier: list[ReleasedPersons],
    settings: OverTimeSettings,
    is_forgotten: Bools,
) -> Bools:
    """Choose the records that are not released: bool (n,)."""
    n_records = len(table.hashes)
    if not earlier:
        return np.zeros(n_records, dtype=np.bool_)
    limits = {c.name: t for c, t in zip(table.columns, table.limits, strict=True)}
    n_persons, numbers = number_hashes([*(one.hashes for one in earlier), table.hashes])
    persons = numbers.pop()
    window = [
        place_release(one, of_one, n_persons, limits)
        for one, of_one in zip(earlier, numbers, strict=True)
    ]
    _check_staying(_share_staying(window[-1], persons))
    cells = find_cells(window, n_persons)
    drops = settings.departures == DROP
    kept = keep_records(table, window, cells, persons, settings.k, drops=drops, first=~is_forgotten)
    most = (MOST_DROPPED if drops else MOST_LEFT_OUT) * n_records
    _check_left_out(int((~kept).sum()), n_records, most, _share_staying(window[-1], persons))
    _check_departures(window, cells, persons[kept], settings)
    return ~kept


def _share_staying(last: KnownRelease, persons: Int64) -> float:
    """The share of the persons of the release before who are here."""
    return float(np.isin(last.rows, persons).mean())


def _check_staying(staying: float) -> None:
    """Refuse a release that most of the persons of the one before are not in, by their hashes.

    Persons who are spelled otherwise would be taken for others, and nothing would be held of them.
    """
    if staying >= LEAST_STAYING:
        return
    raise InfeasibleError(
        f"privacy.over_time: {staying:.0%} of the persons of the release before are here, of whom "
        "releases of a series need half at least; if they are the same persons, spell them as "
        "there (the column of role person, its type and its texts); if these are events, or "
        "others, begin a new series, or take over_time out"
    )


def _check_left_out(n_left_out: int, n_records: int, most: Fraction, staying: float) -> None:
    """Refuse a release that too much is left out of."""
    if n_left_out <= most:
        return
    raise InfeasibleError(
        f"privacy.over_time: {n_left_out:,} of {n_records:,} records would have to be left out, as "
        "too few persons of their classes are still there, or are no longer within t of every "
        "release, or are dropped with those who left "
        f"({staying:.0%} of the persons of the release before are here); begin a new series, which "
        "gives up what the releases of this one have together, or ask a smaller "
        "over_time.k or a larger over_time.t, or publish the values that last once"
    )


def _check_departures(
    window: list[KnownRelease], cells: Int64, kept: Int64, settings: OverTimeSettings
) -> None:
    """Refuse persons who leave in a group that subtraction finds, where that is asked."""
    if settings.departures == UNITE:
        _check_unions(window, kept, settings.k)
    if settings.departures not in {REFUSE, DROP}:
        return
    gone = cells.copy()
    gone[kept] = -1
    failing = np.flatnonzero(measure_cells(gone, window).fail(settings.k))
    n_found = int(np.isin(gone[gone >= 0], failing).sum())
    if n_found:
        raise InfeasibleError(
            f"privacy.over_time.departures: {n_found:,} persons have left earlier classes in "
            f"groups of fewer than k = {settings.k}, or above a t: subtraction finds them; take "
            "departures: report, or wait until more have left"
        )


def _check_unions(window: list[KnownRelease], kept: Int64, k: int) -> None:
    """Refuse a release where all who left an earlier one are too few, so that no union holds."""
    for release in window:
        is_here = np.zeros(release.classes.size, dtype=np.bool_)
        is_here[kept] = True
        goes_on = np.unique(release.classes[release.rows[is_here[release.rows]]])
        left = release.rows[~is_here[release.rows]]
        n_left = int(np.isin(release.classes[left], goes_on).sum())
        if 0 < n_left < k:
            raise InfeasibleError(
                f"privacy.over_time.departures: {n_left:,} persons in all have left the classes of "
                f"an earlier release that go on, fewer than k = {k}, so subtraction finds them "
                "whatever is united; wait until more have left, or take departures: report"
            )
