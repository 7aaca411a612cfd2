"""The verdict on a release together with the earlier ones of its window."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tclose.model.verification import Failure
from tclose.passes.series.departed_groups import count_torn, find_small_groups
from tclose.passes.series.series_cells import ABSENT_CLASS, KnownRelease, find_cells, measure_cells

# Ways to treat persons who leave: what is asked of cells of theirs, or of groups.
REFUSE, DROP, UNITE = "refuse", "drop", "unite"


@dataclass(frozen=True)
class SeriesVerdict:
    """The measures of the cells of a window's releases; the last release is the new one.

    ``n_cells``, ``smallest``, ``largest_emd``: of the cells of its persons; ``n_newcomers``:
    persons in none of the others; ``n_leavers``: persons of the release before who are not in it;
    ``n_exposed``: those of them whose cell has fewer than k persons or is above a t;
    ``n_small_groups``: groups of 1 to k - 1 persons that are found by subtracting classes of this
    release from those of an earlier one; ``smallest_group``: of all such groups, 0 if there is
    none.
    """

    n_cells: int
    smallest: int
    largest_emd: dict[str, float]
    n_newcomers: int
    n_leavers: int
    n_exposed: int
    n_small_groups: int = 0
    smallest_group: int = 0
    failures: tuple[Failure, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """True if the release may be published."""
        return not self.failures


def judge_series(
    releases: Sequence[KnownRelease], n_persons: int, k: int, departures: str
) -> SeriesVerdict:
    """Decide whether the newest of some releases holds together with the others.

    Every cell of its persons has to hold. Cells of persons who left are counted, or have to hold as
    well where departures are refused or cells dropped. Where classes are united, the groups have to
    have k persons that subtraction finds, and no class of an earlier release may come apart.

    Parameters
    ----------
    releases : oldest first, with the persons of all
    """
    cells = find_cells(releases, n_persons)
    newest = releases[-1].classes != ABSENT_CLASS
    n_cells = int(cells.max(initial=-1)) + 1
    present = np.zeros(n_cells, dtype=np.bool_)
    present[cells[newest]] = True
    measured = measure_cells(cells, releases, present)
    failing = measured.fail(k)
    before = [release.classes != ABSENT_CLASS for release in releases[:-1]]
    earlier = np.logical_or.reduce(before) if before else np.zeros(n_persons, dtype=np.bool_)
    left = before[-1] & ~newest if before else earlier
    n_exposed = int(failing[cells[left]].sum())
    n_small, smallest_group = find_small_groups(releases, k)
    return SeriesVerdict(
        n_cells=int(present.sum()),
        smallest=int(measured.sizes[present].min(initial=n_persons)),
        largest_emd=measured.largest,
        n_newcomers=int((newest & ~earlier).sum()),
        n_leavers=int(left.sum()),
        n_exposed=n_exposed,
        n_small_groups=n_small,
        smallest_group=smallest_group,
        failures=(
            *_find_failures(measured.sizes, measured.is_above, present, k),
            *_refuse_departures(int(failing[~present].sum()), departures),
            *_refuse_groups(releases, n_small, k, departures),
        ),
    )


def _find_failures(
    sizes: np.ndarray, is_above: np.ndarray, present: np.ndarray, k: int
) -> list[Failure]:
    """List what the cells of the persons of the release do not hold."""
    failures = []
    small, above = int((sizes[present] < k).sum()), int(is_above[present].sum())
    if small:
        failures.append(Failure("k over time", f"at least {k} persons", f"{small:,} smaller cells"))
    if above:
        failures.append(Failure("t over time", "every cell within it", f"{above:,} cells above"))
    return failures


def _refuse_departures(n_failing: int, departures: str) -> list[Failure]:
    """Say that cells of those who left do not hold, where that is refused."""
    if departures not in {REFUSE, DROP} or not n_failing:
        return []
    asked = "none who can be found by subtraction"
    return [Failure("departures", asked, f"{n_failing:,} cells of persons who left do not hold")]


def _refuse_groups(
    releases: Sequence[KnownRelease], n_small: int, k: int, departures: str
) -> list[Failure]:
    """List what the groups of those who left do not hold, where classes are united for them."""
    if departures != UNITE:
        return []
    failures = []
    if n_small:
        asked = f"none, or at least {k} persons of each set of classes"
        failures.append(Failure("departures", asked, f"{n_small:,} smaller groups"))
    n_apart = sum(count_torn(one, releases[-1]) for one in releases[:-1])
    if n_apart:
        asked = "every earlier class in one class"
        failures.append(Failure("departures", asked, f"{n_apart:,} that came apart"))
    return failures
