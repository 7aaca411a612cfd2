"""Refusals of releases of a series: too few persons stay, or too many are left out or found."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from tclose.errors import InfeasibleError, PolicyError
from tclose.kernels.cell_parts import count_labels
from tclose.model.array_types import Integers
from tclose.model.counted_words import count_words
from tclose.passes.series.kept_records import ColumnAbove, find_earlier
from tclose.passes.series.series_cells import KnownRelease, measure_cells
from tclose.passes.series.series_verdict import DROP, HOLD, NOBODY_FOUND, UNITE
from tclose.policy.sections.privacy_settings import OverTimeSettings

MOST_LEFT_OUT = Fraction(1, 10)  # of the records
MOST_DROPPED = Fraction(1, 2)  # where cells are dropped
_ONE_VALUE = 10  # records of one person, from which the value may be nobody's
LEAST_STAYING = 0.5  # of the persons of the release before


def check_once(persons: Integers) -> None:
    """Refuse a table in which somebody has several records.

    Parameters
    ----------
    persons : (n,): whose each record is

    Raises
    ------
    PolicyError
        Somebody has.
    """
    n_of = count_labels(persons, int(persons.max(initial=-1)) + 1)
    n_again = persons.size - int(np.count_nonzero(n_of))
    if not n_again:
        return
    most = int(n_of.max())
    if most > _ONE_VALUE and 2 * (most - 1) >= n_again:  # a person with so many is none
        raise PolicyError(
            f"privacy.over_time: {most:,} of {persons.size:,} records have one value in the column "
            "of role person, and others have few or one: if it stands for a missing value, name it "
            "in input.missing_values, and say missing: drop"
        )
    raise PolicyError(
        f"privacy.over_time: {n_again:,} of {persons.size:,} records "
        f"{'is of a person who has' if n_again == 1 else 'are of persons who have'} another one; "
        "these are events, and who is in which release is unlike for everybody, "
        "so that no classes hold over time; make a table with one record for each person, or "
        "take over_time out"
    )


def share_staying(last: KnownRelease, persons: Integers) -> float:
    """The share of the persons of the release before who are here, but for those held in it."""
    is_here = np.zeros(last.n_persons, dtype=np.bool_)
    is_here[persons] = True
    return float(is_here[last.fresh].mean())


def check_staying(staying: float) -> None:
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


def check_left_out(
    window: Sequence[KnownRelease],
    n_left_out: int,
    n_records: int,
    staying: float,
    settings: OverTimeSettings,
    find_above: Callable[[], Sequence[ColumnAbove]] = tuple,
    *,
    has_forgotten: bool = False,
) -> None:
    """Refuse a release that too much is left out of.

    Who dropped may report from now on. Who held may not: all who are held would be found at once.
    Nothing but a smaller k helps where an earlier release has smaller classes.

    Parameters
    ----------
    window : the earlier releases that this one is held to
    staying : the share of the persons of the last one who are here
    find_above : finds the attributes in which earlier classes are above t in the new table
    has_forgotten : whether somebody was forgotten in the last one, over which nobody is held then

    Raises
    ------
    InfeasibleError
        More than a tenth of the records would be left out, or half where cells are dropped.
    """
    most = MOST_DROPPED if settings.departures in {DROP, HOLD} else MOST_LEFT_OUT
    if n_left_out <= most * n_records:
        return
    if has_forgotten and settings.departures == HOLD:
        raise InfeasibleError(
            f"privacy.over_time: {n_left_out:,} of {n_records:,} records would have to be left "
            "out, as somebody was forgotten in the release before: over it nobody who left is "
            "held, and of every class that too few have left all are left out; begin a new series, "
            "which gives up what the releases of this one have together"
        )
    n_in_small = max(_count_in_small(release, settings.k) for release in window)
    if 2 * n_in_small >= n_left_out:
        raise InfeasibleError(
            f"privacy.over_time: {n_left_out:,} of {n_records:,} records would have to be left "
            f"out: {n_in_small:,} persons of an earlier release are in classes of fewer than "
            f"over_time.k = {settings.k}, which that release did not ask; ask its k, or begin a "
            "new series, which gives up what the releases of this one have together"
        )
    raise InfeasibleError(
        f"privacy.over_time: {n_left_out:,} of {n_records:,} records would have to be left out, "
        f"{_explain(find_above(), settings)} "
        f"({staying:.0%} of the persons of the release before are here); begin a new series, which "
        "gives up what the releases of this one have together, or ask a smaller over_time.k or a "
        "larger t over time (over_time.t, or the attribute's own), or publish the values that last "
        "once"
        + (
            ", or report those who leave, or unite classes for them (departures)"
            if settings.departures == DROP
            else ""
        )
    )


def _explain(above: Sequence[ColumnAbove], settings: OverTimeSettings) -> str:
    """Say why records are left out: by attributes, where there are such."""
    if above:
        named = "; ".join(map(str, above))
        return f"as earlier classes are above t in the new table by now: {named}"
    dropped = (
        ", or those who left are too few, so that all of their class is left out"
        if settings.departures in {DROP, HOLD}
        else ""
    )
    return (
        "as too few persons of their classes are still there, or are no longer within t of every "
        f"release{dropped}"
    )


def _count_in_small(release: KnownRelease, k: int) -> int:
    sizes = np.bincount(release.row_classes)
    return int(sizes[sizes < k].sum())


def check_held_share(n_held: int, n_others: int, most: Fraction | None) -> None:
    """Refuse a release in which too many records are of persons who left.

    Parameters
    ----------
    n_others : records of the release besides
    most : the share of all that may be; None if none is held
    """
    if most is None or n_held <= most * (n_held + n_others):
        return
    raise InfeasibleError(
        f"privacy.over_time.departures: hold: {n_held:,} of {n_held + n_others:,} records would be "
        f"of persons who left, more than hold.at_most of {float(most):.2%}; allow more, take "
        "departures: drop for this release, or begin a new series"
    )


def check_departures(
    window: Sequence[KnownRelease], cells: Integers, persons: Integers, settings: OverTimeSettings
) -> None:
    """Refuse persons who leave in a group that subtraction finds, where that is asked."""
    if settings.departures == UNITE:
        _check_unions(window, persons, settings.k)
    if settings.departures not in NOBODY_FOUND:
        return
    gone = cells.copy()
    gone[persons] = -1
    gone[~find_earlier(window, cells.size)] = -1  # newcomers who are left out leave no class
    failing = np.flatnonzero(measure_cells(gone, window).fail(settings.k))
    n_found = int(np.isin(gone[gone >= 0], failing).sum())
    if not n_found:
        return
    gone[window[-1].rows] = -1
    n_before = int(np.isin(gone[gone >= 0], failing).sum())
    remedy = "take departures: report, or wait until more have left"
    if n_before:
        remedy = (
            f"{count_words(n_before, 'of them was', 'of them were')} gone from the release before "
            "already, and no later one "
            "hides them: take departures: report until what they have left is out of the window, "
            "or a smaller window, or begin a new series"
        )
    raise InfeasibleError(
        f"privacy.over_time.departures: "
        f"{count_words(n_found, 'person has', 'persons have')} left earlier classes in groups of "
        f"fewer than k = {settings.k}, or above a t: subtraction finds them; {remedy}"
    )


def _check_unions(window: Sequence[KnownRelease], persons: Integers, k: int) -> None:
    """Refuse a release where all who left an earlier one are too few, so that no union holds.

    Or all who were in one of its classes, which there were fewer of when a smaller k was asked.
    """
    for release in window:
        is_here = np.zeros(release.n_persons, dtype=np.bool_)
        is_here[persons] = True
        stays = is_here[release.rows]
        left = release.row_classes[~stays]
        goes_on = np.isin(left, release.row_classes[stays])
        n_left = int(goes_on.sum())
        if 0 < n_left < k:
            raise InfeasibleError(
                f"privacy.over_time.departures: "
                f"{count_words(n_left, 'person in all has', 'persons in all have')} left the "
                "classes of "
                f"an earlier release that go on, fewer than k = {k}, so subtraction finds them "
                "whatever is united; wait until more have left, or take departures: report"
            )
        sizes = np.bincount(left[~goes_on], minlength=1)
        if ((sizes > 0) & (sizes < k)).any():
            raise InfeasibleError(
                f"privacy.over_time.departures: all {sizes[sizes > 0].min():,} persons of a class "
                f"of an earlier release have left, fewer than k = {k}, which that release did not "
                "ask, so that no union holds; ask the k of that release, or take departures: report"
            )
