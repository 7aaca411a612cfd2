"""Persons who were forgotten in some registers of a window, and are somebody else in another one.

Whoever is forgotten has a drawn number in all registers that had her until then. Once a window has
left these releases she may be released again, by her own hash, and be forgotten again. In a window
of both she would be two persons, and her cell would never be judged. Registers tell it: they list
the hashes of whoever was forgotten, once for each time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.errors import InfeasibleError
from tclose.model.array_types import Bools, Int64, UInt64
from tclose.passes.series.window.earlier_registers import REGISTERED_HASHES
from tclose.releases.series.register_file import NOBODY, ReleasedPersons
from tclose.releases.series.series_history import SeriesWindow
from tclose.runtime.pipeline import PassContext

_PIECE = 1 << 20  # hashes that are looked at together
_IN_A_ROW, _ABSENT = 0, -1


@dataclass(frozen=True)
class SplitPersons:
    """Persons who are two in a window.

    ``n_persons``; ``release``: place in the window of the newest release that another one is not to
    be held together with; without it and older ones nobody is two persons.
    """

    n_persons: int
    release: int

    def describe(self) -> str:
        """Say of its register who is two persons."""
        return (
            "1 person was forgotten who is in a later release again"
            if self.n_persons == 1
            else f"{self.n_persons:,} persons were forgotten who are in later releases again"
        )


def check_forgotten(
    context: PassContext, window: SeriesWindow, registered: Sequence[ReleasedPersons]
) -> None:
    """Refuse a window in which somebody is two persons.

    Parameters
    ----------
    registered : what `read_registers` returned

    Raises
    ------
    InfeasibleError
        Somebody is.
    """

    def read_hashes(place: int) -> UInt64:
        hashes: UInt64 = context.workspace.file(REGISTERED_HASHES, place).read()
        return hashes

    split = find_split([persons.forgotten for persons in registered], read_hashes)
    if split is not None:
        raise InfeasibleError(
            f"privacy.over_time.window: it has release {window.releases[split.release]}, in whose "
            f"register {split.describe()}, so that nothing could be held of whom they were "
            f"together with; take a window of {len(window.releases) - split.release} for this "
            "release (each later one may have one more), or begin a new series"
        )


def find_split(
    forgotten: Sequence[UInt64], read_hashes: Callable[[int], UInt64]
) -> SplitPersons | None:
    """Find the persons of a window who are two in it, or None.

    Hashes of rows are looked at only where somebody was forgotten, those of one release at a time.

    Parameters
    ----------
    forgotten : uint64 (f, 2) of each register, oldest first: hashes of whoever was forgotten in it
    read_hashes : reads the hashes of the rows of a release, uint64 (2, n)
    """
    names = np.unique(np.concatenate([NOBODY, *forgotten]), axis=0)
    if not len(names):
        return None
    known = np.full((len(forgotten), len(names)), _ABSENT, dtype=np.int64)
    for place, listed in enumerate(forgotten):
        times = np.bincount(_find_places(names, listed.T), minlength=len(names))
        known[place, times > 0] = times[times > 0]
        known[place, _find_those_there(names, read_hashes(place))] = _IN_A_ROW
    newest = np.full(len(names), _ABSENT)  # by what each is known in the releases from here on
    is_split, last = np.zeros(len(names), dtype=np.bool_), -1
    for place in reversed(range(len(forgotten))):
        is_there = known[place] != _ABSENT
        is_other = is_there & (newest != _ABSENT) & (newest != known[place])
        last = max(last, place) if is_other.any() else last
        is_split |= is_other
        newest = np.where(is_there, known[place], newest)
    return SplitPersons(int(is_split.sum()), last) if is_split.any() else None


def _find_those_there(names: UInt64, hashes: UInt64) -> Bools:
    """Return which of some persons have one of the hashes (2, n): bool (f,)."""
    is_there = np.zeros(len(names), dtype=np.bool_)
    for start in range(0, hashes.shape[1], _PIECE):
        is_there[_find_places(names, hashes[:, start : start + _PIECE])] = True
    return is_there


def _find_places(names: UInt64, hashes: UInt64) -> Int64:
    """The places in ascending names (f, 2) of those of the hashes (2, n) that are in it."""
    places = np.searchsorted(names[:, 0], hashes[0])
    maybe = np.flatnonzero(places < len(names))
    maybe = maybe[names[places[maybe], 0] == hashes[0, maybe]]
    found, firsts = places[maybe], hashes[0, maybe]
    while True:  # names whose first words are equal are next to each other
        later = names[found, 1] < hashes[1, maybe]
        later &= names[np.minimum(found + 1, len(names) - 1), 0] == firsts
        later &= found + 1 < len(names)
        if not later.any():
            break
        found[later] += 1
    same: Int64 = found[names[found, 1] == hashes[1, maybe]]
    return same
