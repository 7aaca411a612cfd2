"""The promise that releases of a series make together: of whom, and to which k and t.

Each release of a series is verified with the earlier ones of its window. So of some releases of one
window the newest decides: the cells of its persons have `over_time.k` persons and are within
`over_time.t`, those of attributes that it has no longer within what the release had that has them.
Cells of persons who left are promised to as well, or only reported, whichever way its policy treats
departures. Releases without ``privacy.over_time``, and more of them than a window has, promise
nothing together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tclose.assess.over_time.published import Published
from tclose.passes.series.series_verdict import NOBODY_FOUND
from tclose.releases.manifest.inside_sections import SeriesSection
from tclose.releases.repository.contents import read_internal


@dataclass(frozen=True)
class SeriesPromise:
    """``newest``: place of the release that was published last, whose persons it is about.

    ``limits``: of each release the t of its confidential attributes: that of the newest one, and of
    an attribute that the newest does not have that of the release itself; ``departures``: how
    persons who left are treated.
    """

    series: str
    newest: int
    k: int
    limits: tuple[dict[str, Fraction], ...]
    departures: str

    @property
    def holds_for_leavers(self) -> bool:
        """True if cells of those who left are promised to hold as well."""
        return self.departures in NOBODY_FOUND


def find_promise(published: Sequence[Published]) -> SeriesPromise | None:
    """The promise of releases of one window of a series, or None if they are no such releases."""
    sections = [section for one in published if (section := read_section(one)) is not None]
    if len(sections) < len(published):
        return None
    last = max(sections, key=lambda section: section.number)
    numbers = {section.number for section in sections}
    folders = {one.release.parent.parent for one in published if one.release is not None}
    is_one = len({section.series for section in sections}) == len(folders) == 1
    if not is_one or len(numbers) < len(sections) or min(numbers) <= last.number - last.window:
        return None
    return SeriesPromise(
        series=last.series,
        newest=sections.index(last),
        k=last.k,
        limits=tuple(
            {name: Fraction(str(last.t.get(name, t))) for name, t in section.t.items()}
            for section in sections
        ),
        departures=last.departures,
    )


def read_section(published: Published) -> SeriesSection | None:
    """The place of a release in its series, by its internal manifest; None where it is of none."""
    internal = None if published.release is None else read_internal(published.release)
    return None if internal is None else internal.over_time
