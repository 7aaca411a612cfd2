"""Links of the persons of a table to earlier releases of its series, and records to be left out.

What can be released together with the earlier releases is decided before anything is counted: a
record that is left out is read without its person from then on, and so is not complete. Registers
and files that were published are read by the command's own process, as no other need see them; what
takes all persons at once is done by tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tclose.data.files.input_partitions import leave_out
from tclose.errors import InfeasibleError
from tclose.model.input_pieces import Partition
from tclose.passes.persons.named_key import check_register_key, identify_key
from tclose.passes.persons.person_keys import PersonKey
from tclose.passes.series.chosen_records import (
    CHOOSE_TASK,
    HELD_AGES,
    LEFT_OUT,
    Choice,
    ChoiceInput,
)
from tclose.passes.series.headroom import choose_size
from tclose.passes.series.held.handed_out import (
    HandedOut,
    open_handed_out,
    refuse_damaged,
)
from tclose.passes.series.held.held_records import (
    HANDED_OUT,
    add_held,
    copy_values,
    released_types,
)
from tclose.passes.series.series_verdict import HOLD, UNITE
from tclose.passes.series.window.earlier_registers import read_registers
from tclose.passes.series.window.linked_records import LINK_TASK
from tclose.passes.series.window.split_persons import check_forgotten
from tclose.passes.series.window.window_persons import WINDOW_TASK, rank_window
from tclose.passes.summarise.records import Source
from tclose.policy.policy import Policy
from tclose.policy.sections.privacy_settings import OverTimeSettings
from tclose.releases.series.register_file import Centre, ReleasedPersons
from tclose.releases.series.series_history import (
    SeriesRelease,
    SeriesWindow,
    find_window,
)
from tclose.runtime.artifacts.artifacts import Artifact
from tclose.runtime.pipeline import PassContext
from tclose.runtime.run import Run


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
    one of them has been, at most; ``share_gone``, ``share_new``: of the persons of the release
    before who are not in the table, and of its records those of persons in no release of the
    window; ``centres``: what the release before released of the
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
    share_gone: float = 0.0
    share_new: float = 0.0
    centres: tuple[Centre, ...] = ()
    limits: tuple[Fraction, ...] = ()
    of_ranges: tuple[int, ...] = ()


# One, or none of a release that stands alone.
SERIES = Artifact("series", tuple[SeriesLink, ...], version=5)


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


def link_series(
    context: PassContext,
    source: Source,
    partitions: tuple[Partition, ...],
    key: PersonKey | None,
) -> tuple[Source, tuple[Partition, ...], tuple[SeriesLink, ...]]:
    """The source and its partitions without the records that have to be left out; the place.

    Parameters
    ----------
    key : by which persons are hashed; a series has one

    Raises
    ------
    PolicyError
        A person has several records, or the registers are of another key.
    InfeasibleError
        Too many records would have to be left out; or persons leave in a way that is refused.
    OutputError
        An earlier release of the window is not at hand, or not as it was published.
    """
    run = context.run
    settings = run.policy.privacy.over_time
    if settings is None or key is None:
        return source, partitions, ()
    linked = _link_records(context, partitions, source, key)
    handed_out = _open_handed_out(context, source, linked, settings)
    item = ChoiceInput(
        settings,
        source.confidential,
        limits_over_time(run.policy, settings),
        sum(linked.of_ranges),
        len(partitions),
        may_hold=handed_out is not None,
    )
    [choice] = context.map(CHOOSE_TASK, [item])
    if choice is None:
        raise refuse_damaged(linked.releases[-1], "its register is not of its rows")
    left_out = context.workspace.file(LEFT_OUT, 0).read()
    if left_out.size:
        partitions = leave_out(partitions, left_out)
    link = _describe(context, linked, item, choice, key)
    person = None if source.person is None else source.person.name
    hiding = replace(source, reading=replace(source.reading, hidden=person))
    if handed_out is not None:
        held, last = context.workspace.file(HELD_AGES, 0).read(), len(linked.releases) - 1
        partitions = add_held(context, source, partitions, held, handed_out, last)
    return hiding, partitions, (link,)


@dataclass(frozen=True, eq=False)
class _LinkedRecords:
    """The records of a table beside the earlier releases of its window, all of whom are numbered.

    ``registered``: what the registers say besides their rows; ``of_ranges``: persons in each range
    of hashes that they were ranked in.
    """

    window: SeriesWindow
    releases: tuple[SeriesRelease, ...]
    registered: tuple[ReleasedPersons, ...]
    of_ranges: tuple[int, ...]


def _link_records(
    context: PassContext, partitions: tuple[Partition, ...], source: Source, key: PersonKey
) -> _LinkedRecords:
    context.map(
        LINK_TASK,
        [(partition, source, key) for partition in partitions],
        sizes=[partition.n_records for partition in partitions],
    )
    window, releases = look_up_window(context.run)
    registered = read_registers(context, releases)
    _check_keys(context, window, registered, key)
    check_forgotten(context, window, registered)
    ranked = rank_window(context, len(releases), len(partitions))
    context.map(WINDOW_TASK, [ranked])
    return _LinkedRecords(window, releases, registered, ranked.of_ranges)


def _open_handed_out(
    context: PassContext, source: Source, linked: _LinkedRecords, settings: OverTimeSettings
) -> HandedOut | None:
    """The release before, where records may be held from it; its values are copied for tasks.

    Workers see working files, and not what is published.
    """
    if settings.departures != HOLD or not linked.releases:
        return None
    handed_out = open_handed_out(linked.releases, context.run.policy, released_types(source))
    attributes, file = linked.registered[-1].attributes, context.workspace.new_file(HANDED_OUT)
    copy_values(handed_out, source.confidential, attributes, file)
    return handed_out


def _describe(
    context: PassContext,
    linked: _LinkedRecords,
    asked: ChoiceInput,
    choice: Choice,
    key: PersonKey,
) -> SeriesLink:
    """The place of a release in its series."""
    settings = asked.settings
    size = choose_size(settings.k, choice.churn, settings.window - 1)
    return SeriesLink(
        window=linked.window,
        made_k=max(context.run.policy.privacy.k, size),
        n_left_out=choice.n_left_out,
        churn=choice.churn,
        united_k=settings.k if settings.departures == UNITE else 0,
        n_leavers=choice.n_leavers,
        n_classes_left=choice.n_classes_left,
        n_forgotten=choice.n_forgotten,
        key_id=identify_key(key.content),
        n_held=choice.n_held,
        stalest=choice.stalest,
        share_gone=choice.share_gone,
        share_new=choice.share_new,
        centres=linked.registered[-1].centres if linked.registered else (),
        limits=asked.limits_of_columns,
        of_ranges=linked.of_ranges,
    )


def _check_keys(
    context: PassContext,
    window: SeriesWindow,
    earlier: Sequence[ReleasedPersons],
    key: PersonKey,
) -> None:
    """See that the registers are of the key that persons are hashed with now."""
    for name, persons in zip(window.releases, earlier, strict=True):
        check_register_key(context.run.policy, window.series, name, persons.key_id, key.content)
